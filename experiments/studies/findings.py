"""What the studies concluded, and whether it holds here: the first tables of docs/studies/README.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple


class Finding(NamedTuple):
    """A conclusion of a study."""

    says: str
    """What the study says."""
    holds: Literal["yes", "no", "in part", "open"]
    here: str
    """What was found here, with the row that shows it."""


FINDINGS: Mapping[str, Sequence[Finding]] = {
    "rlgame": (
        Finding(
            "A game for two does not fit RL-Glue: both players must be faked inside one agent.",
            "yes",
            "Of RL-Glue. Here two agents sit in two seats, each with its own steps and returns (`pilot`).",
        ),
        Finding(
            "The old and the new program play the same moves.",
            "open",
            "The old program is not here. Our compiled learner and the same one in Python over the plain rules play 50 of 50 games alike (`old-and-new`).",
        ),
        Finding(
            "Two learners on 8 x 8 end about level, White 54 %, and their games grow long, 218 moves of the winner.",
            "in part",
            "One pair of networks cannot tell: over five pairs White wins 30 to 92 %. Games grow short, not long: 59 moves (`self-play`). In late games that White wins, Black's base holds 4.2 of its pawns, in the study none (`self-play-sets`).",
        ),
        Finding(
            "Greedy games of learned networks never end, and those of two other networks are all won by White in 13 moves.",
            "in part",
            "Each happens for some of five pairs. After 50,000 games of training, 6, 97, 0, 100 and 14 of a pair's 100 greedy games do not end. After 2,000, White wins all games of one pair, Black all of another, and those of the other three never end (`old-and-new`).",
        ),
        Finding(
            "Minimax of depth 5 lost because version 1.3 did not see that an entered base ends the game.",
            "in part",
            "With the error two of five pairs collapse: White wins 11, 92, 86, 94 and 11 % with it, 97, 100, 100, 96 and 93 % without. Games last 16.3 moves (12.0..20.6), in the study 8.6 (`minimax-bug`).",
        ),
        Finding(
            "Minimax of depth 5 makes White win overwhelmingly, 95.6 %.",
            "yes",
            "88 % (71..100) and 91 % (84..99) in two readings of the learner (`minimax`).",
        ),
        Finding(
            "In Connect Four White, who begins, is always ahead: 65.8 %.",
            "no",
            "The mean over five pairs agrees, but by pair White wins 17 to 80 %, in the other reading 37 to 90 % (`connect-four`).",
        ),
        Finding(
            "Minimax of depth 3 widens White's lead in Connect Four, to 85.6 %.",
            "yes",
            "91 % (76..100) and 95 % (86..100), in shorter games than the study's: 6.5 moves for 10.1 (`connect-four-minimax`).",
        ),
    ),
    "amazons": (
        Finding(
            "More than 1,600 moves are legal at the start.",
            "no",
            "1,232 on the study's board of 8 x 8 (`tree`).",
        ),
        Finding(
            "A search of depth 3 costs up to three minutes a move, so depth 2 with Monte Carlo must do.",
            "no",
            "Depth 3 takes 0.07 s for the first move of a game (`cost`), and wins 75 % (59..91) against depth 2 with Monte Carlo, both with the weights MP (`depths`).",
        ),
        Finding(
            "Against Random all learners reach the maximum quickly, and MP is there throughout.",
            "yes",
            "96 and 97 (`run-1`, `run-4`) after 5,000 moves, from 46 and 58 before, where the maximum of 100 is that every game is won. MP is at 94 to 100 throughout (`run-7`).",
        ),
        Finding(
            "Against AbMp, Zeros and Ones lose all at first; Zeros is near the maximum before 20,000 moves, and Ones at 60,000.",
            "in part",
            "Both lose all games at first. From 20,000 moves on, Zeros wins 68 to 81 % of games (scores of 35 to 62) and Ones 72 to 81 % (43 to 62), without a further rise (`run-2`, `run-5`).",
        ),
        Finding(
            "Against AbMp, MP wins most games from the start and improves almost at once.",
            "in part",
            "It wins 87 % (82..92) of the first games, and learning makes it worse: 59 % after 5,000 moves, and 72 to 86 from 10,000 on (`run-8`).",
        ),
        Finding(
            "Against McMp, MP is level, drops and rises again.",
            "yes",
            "2, -39 after 5,000 moves, and 26 to 47 from 15,000 on (`run-9`).",
        ),
        Finding(
            "Against McMp, Zeros does not learn to play well and Ones ends level, since the step size shrinks before they have.",
            "no",
            "Both lose nearly all at first and are ahead in the end, with the same schedule: 26 (1..51) and 42 (16..69). One of five seeds of Zeros stays level (`run-3`, `run-6`).",
        ),
        Finding(
            "When weights converge depends on the run: after 20,000 to 80,000 moves.",
            "no",
            "How far the weights move in 50 moves follows the step size, which is halved every 5,000 moves. This distance is 10 to 17 at first, halves with the step size, and falls below 1 % of that level after 36,000 to 38,000 moves in all six runs in which it was recorded (`run-1` to `run-4`, `run-6`, `run-8`). The schedule ends the learning.",
        ),
        Finding(
            "Training against a fairly good opponent gives a stronger player than training against the best: OnesVsAbMp wins the tournament.",
            "yes",
            "In a round robin of all trained players, those trained against AbMp win 66.4 % (64.5..68.2) and those trained against McMp 58.1 % (55.5..60.8); from each of the three sets of initial weights, the player trained against AbMp is ahead ([all trainings](across.md#the-trainings-of-amazons-against-each-other)). "
            "OnesVsAbMp wins the study's tournament here, too: 79 % with the weights that the study published, as there, and 79.5 % (74..85) with weights learned here (`tournament`).",
        ),
        Finding(
            "MpVsMcMp, MP and MpVsRandom follow in this order, with 64, 63 and 61 %.",
            "in part",
            "With the published weights they are level: 55, 58 and 58 %. With weights learned here the order is the study's, 71.5 % (68..75), 55.0 (47..63) and 44.0 (39..50). The study's table cannot be one round robin, as its wins and losses do not add up (`tournament`).",
        ),
        Finding(
            "The opponent in training matters more than the weights it begins with.",
            "yes",
            "By far. In a round robin of all trained players, those trained against AbMp, McMp and Random win 66, 58 and 26 %, and those that began from Zeros, Ones and MP 47, 51 and 52 %. The training opponent explains 90 % (83..97) of the variance between the players and the initial weights 4 % (1..6) "
            "([all trainings](across.md#the-trainings-of-amazons-against-each-other)). The study's own three runs agree: MpVsMcMp gains 16.5 points (11..22) over MP, and MpVsRandom loses 11 (-2..24) (`tournament`).",
        ),
    ),
    "dominion": (
        Finding(
            "Of the scripted players Chapel is the best and Money the second.",
            "in part",
            "With two players Chapel is the best, and Money is second only if Blacksmith turns to victory cards below 3 Provinces, not below 4 as the text says (`bots-2`). With four the order is Blacksmith, Greedy, Chapel, Money, as in the study (`bots-4`).",
        ),
        Finding(
            "Forced exploration plays well sooner and explores more of a small table.",
            "in part",
            "It explores 1.4 to 1.6 times as many entries. At the study's learning rate its first good test comes after 418,000 games, and that of epsilon-greedy after 918,000. With a decaying learning rate the figures are 554,000 (413,000..695,000) and 482,000 (226,000..738,000) (`version-0`).",
        ),
        Finding(
            "Versions 0 and 1 win 53 to 60 % against Greedy, Blacksmith and Chapel.",
            "in part",
            "With the settings that the study names they win 42 to 45 %. With a decaying learning rate, higher initial values and a reward set by hand they win 53 % in version 1, where the study has 54 and 53 % (`version-1`), and 54 % in version 0, where it has 57 and 60 % (`version-0`).",
        ),
        Finding(
            "It suffices to count Coppers up to 8, one Smithy, 2 Golds, 4 Silvers and 12 turns.",
            "in part",
            "For Coppers and Golds this holds. The second Smithy is worth 3 points and turns beyond 12 about 5; the fifth Silver 2.0 (1.1..2.8) by forced exploration and nothing that shows by epsilon-greedy (`bounds`).",
        ),
        Finding(
            "Training against Random is the worst, and between the other opponents it matters little.",
            "yes",
            "Trained against Random it wins 9 % (0..20) against three Money, trained against the others 53 to 56 %; in the study 68 and 75 to 78 (`transfer`). The size of the difference depends on the learning rate: with one that falls it is [42 and 55 to 60 %](../agents/dominion.md#trained-against-one-tested-against-another).",
        ),
        Finding(
            "For two players version 14.5 is slightly worse than 14.0 with a thirtieth of its table.",
            "in part",
            "It is worse by 6 and by 10 points (`two-players`).",
        ),
        Finding(
            "With ten kingdom cards it wins 71.98 and 70.78 % against three Money, and from version 19 on epsilon-greedy is ahead.",
            "in part",
            "With the settings that the study names, epsilon-greedy and forced exploration win 15 and 19 %, and their order does not change at version 19 (`cards-4`). With two players forced exploration is ahead at version 19, by 7 points (3..12), and at 20 and 22 (`cards-2`). With a decaying learning rate, high initial values and a reward set by hand they win 69.8 and 60.6 % (`version-23-4`); with two players 72 and 37 %, where the study has 67 and 76 % (`version-23-2`). Epsilon-greedy is then ahead from version 19 or 20 on, but after 1,000,000 games, where the study plays 5,000,000; the version at which the order changes depends on the number of games ([what was tried](dominion-23.md)).",
        ),
        Finding(
            "It learns to leave Copper, to buy Silver, Gold and one Smithy, and no other kingdom card.",
            "in part",
            "With four players, victory points and a falling rate a deck has 7.2 Copper, 3.0 Silver, 1.4 Gold and 1.0 Smithy, in the study 7.5, 3.8, 1.5 and 1.0 ([what was tried](dominion-23.md)); with what the study names it has no Smithy. A reward set by hand that pays for Silver and Gold proves little. With it, decks of epsilon-greedy have 5.3 Silver and 1.8 Gold; other kingdom cards number 0.1 with epsilon-greedy and 1.3 with forced exploration, and with two players 1.4 and 4.4 (`decks`).",
        ),
        Finding(
            "The strategy does not depend on the initial values.",
            "in part",
            "In version 12 it does not (`first-values`). With ten kingdom cards it does: purchases with low initial values are not tried ([what was tried](dominion-23.md)).",
        ),
        Finding(
            "The strategy is believed to be optimal.",
            "open",
            "Version 14.5 with a decaying learning rate wins 28.9 % against three Big Money players with two Smithies, where an equal player would win 25 %; the optimum is not known (`optimal`).",
        ),
    ),
    "tetris": (
        Finding(
            "Six units set by hand clear about 5,200 rows (figure 4.1).",
            "no",
            "With Dellacherie's published weights they clear 65,058. Without two of them it is 5,639, so units that did not work would explain the study's figure (`handmade`).",
        ),
        Finding(
            "What is learned on SZ-Tetris does not transfer.",
            "yes",
            "25 rows in Tetris, where units set by hand clear 7,458 in games of the same length (`run-0`).",
        ),
        Finding(
            "Elitist selection is preferable: 946 rows against 203.",
            "no",
            "291 and 300 rows over five seeds each (`run-3`, `run-2`). None of the ten exceeds 494, so luck alone does not explain the study's 946.",
        ),
        Finding(
            "Run 2, begun again from its best, does not improve: 62 rows after 100 generations.",
            "in part",
            "Two of five seeds do not, with 103 and 157 rows; three reach 1,406 to 3,189 (`run-2b`).",
        ),
        Finding(
            "From the solution set by hand, learning reaches 2,378 rows in 11 generations.",
            "no",
            "It reaches 26,945 (17,342..36,547) in games that end at 40,000 rows, where the solution that it begins with clears 29,221 (26,405..32,038): no gain shows. The mean candidate clears 77 (`run-4`).",
        ),
        Finding(
            "From genes of 0.5 the population rises steadily, if slowly: 21 rows after 38 generations.",
            "yes",
            "27 rows in new games, and the best comes last in three of five seeds (`run-5`).",
        ),
        Finding(
            "No run reaches the goal of 5,200 rows by learning.",
            "in part",
            "A search over all 192 genes reaches it with none of the five seeds from genes of 0.5 (`run-5`), and with all five from the hand-set solution, which itself reaches it (`run-4`). A search over only the weights of the six units, from zeros, reaches it with all five: 39,149 to 937,032 rows (`goal`).",
        ),
    ),
    "dots": (
        Finding(
            "Alpha-beta pruning stops working where a player moves again.",
            "no",
            "It is sound if who is to move decides who maximises: no value changes in 1,000 positions, and 36 times fewer are valued (`pruning`).",
        ),
        Finding(
            "On 5 x 5 dots the weights oscillate because of the step size.",
            "in part",
            "On 6 x 6 the step size that works on 4 x 4 diverges in five of five trainings, and a smaller one in none (`six`). On 5 x 5, weights move by 0.55 between checks with that step size and by 0.18 with a third of it, as with any learner (`five`).",
        ),
        Finding(
            "6 x 6 dots are too slow to learn.",
            "no",
            "A game of self-play takes 0.6 s, two turns ahead and with at most 10,000 positions a decision (`six`).",
        ),
        Finding(
            "Self-play finds the weights of a good player.",
            "in part",
            "Six of seven signs agree with the study's. The player beats Random in 2,499 of 2,500 games, and perfect play in 9 %, all from the seat that wins with best play: 17 % of those (`weights`).",
        ),
    ),
}
