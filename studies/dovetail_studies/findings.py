"""The words of studies/pages/README.md: terms, what the studies concluded and whether it holds here, and why some figures are not compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

Holds = Literal["yes", "no", "in part", "open", "-"]
"""Whether a conclusion holds here; a dash where the study concludes nothing."""


class Finding(NamedTuple):
    """A conclusion of a study."""

    says: str
    """What the study says."""
    holds: Holds
    here: str
    """What was found here, with the row that shows it."""

    def rests_on(self, row: str) -> bool:
        """Return whether the sentence names a row."""
        return f"`{row}`" in self.here


TERMS: Mapping[str, str] = {
    "rlgame": "A *pair* is two networks that learn from each other, with their own random numbers. *Readings* of the study's learner are its program (`seed-fidelity`) and its text (`thesis-text`), which differ. Only in the name `seed-fidelity` is a seed the study that Dovetail grew out of.",
    "amazons": "*MP* are weights set by hand. *AbMp* is alpha-beta of depth 2 with them; *McMp* adds the study's *Monte Carlo* step, which plays each of the five best moves out by search and chooses one that won. A run such as OnesVsAbMp is named after the learner's initial weights and its opponent. A *check* is a set of games with learning off; its *score* is -100 if all are lost, and +100 if all are won.",
    "dominion": "*With the settings that the study names*, the learner has the study's rate of 0.2, discount and exploration; the reward, the victory points of each purchase, and first values from 0 to 1 are ours. *Shaped* is a reward by card, set by hand here, as the study names none.",
    "tetris": "*Genes* are the numbers from 0 to 1 that describe a network; a *candidate* is one set of them. A unit's *loop* counts the cells of a run. The *vector* of the best candidate met is what a search has learned.",
    "dots": "*Turns* are how far the search looks ahead: a player who completes a box draws again within the same turn.",
}
"""What words mean in a study's tables and conclusions."""

UNCOMPARED: Mapping[tuple[str, str], str] = {
    ("rlgame", "pilot"): "The study prints no figures",
    ("amazons", "cost"): "A time on another computer",
    ("dominion", "cost"): "A time on another computer",
    **{
        ("dominion", row): "The study draws curves and prints no figures"
        for row in ("bounds", "longest", "two-players", "cards-4", "cards-2")
    },
    ("dominion", "optimal"): "The study measures nothing",
    (
        "tetris",
        "literature",
    ): "The figures are other authors', quoted, some of them for other rules",
    ("dots", "begin"): "Weights to begin with are given, not learned",
}
"""Why no figure of a row is compared, where it is not that the study says it in words."""


FINDINGS: Mapping[str, Sequence[Finding]] = {
    "rlgame": (
        Finding(
            "A game for two does not fit RL-Glue: both players must be faked inside one agent.",
            "yes",
            "True of RL-Glue. Here two agents sit in two seats, each with its own steps and returns (`pilot`).",
        ),
        Finding(
            "The old and the new program play the same moves.",
            "open",
            "The old program is not here. Our compiled learner and the same one in Python over the plain rules play 50 of 50 games alike (`old-and-new`).",
        ),
        Finding(
            "Two learners on 8 x 8 end about level, White 54 %, and their games grow long, 218 moves of the winner.",
            "in part",
            "One pair of networks cannot tell: over five pairs White wins 30 to 92 %, in the other reading of the learner 2 to 92 %. Games grow shorter, from 104 moves of the winner in the first 5,000 to 43 in the last, in the other reading from 74 to 31; the study's grow from 52 to 282. No pair turns as the study's does, where White wins 96 % of the first 10,000 games and 44 % of the rest (`self-play-sets`). In late games that White wins, Black's base holds 4.2 of its pawns, in the study none (`self-play-sets`).",
        ),
        Finding(
            "Greedy games of learned networks never end, and those of two other networks are all won by White in 13 moves.",
            "in part",
            "Each happens for some of five pairs. After 50,000 games of training, 6, 97, 0, 100 and 14 of a pair's 100 greedy games do not end. After 2,000, White wins all games of one pair in 15 moves, Black all of another, and those of the other three never end (`old-and-new`).",
        ),
        Finding(
            "Minimax of depth 5 lost because version 1.3 did not see that an entered base ends the game.",
            "in part",
            "With the error two of five pairs collapse: White wins 11, 92, 86, 94 and 11 % with it, 97, 100, 100, 96 and 93 % without. Games last 11 to 20 moves by pair, all above the study's 8.6, though another pair may have 7.9 to 32.2 (`minimax-bug`).",
        ),
        Finding(
            "Minimax of depth 5 makes White win overwhelmingly, 95.6 %.",
            "yes",
            "88 % (71..100) and 91 % (84..99) in two readings of the learner. The same learners without minimax give White 58 % (5..100) and 37 % (0..75), in the study 36 %. Minimax raises White's share in all ten pairs, by 31 points (-4..66) and 54 (18..91) (`minimax`).",
        ),
        Finding(
            "In Connect Four White, who begins, is always ahead: 65.8 %.",
            "in part",
            "In five of ten pairs of networks White is ahead in all ten sets of 5,000 games, in two in none; by pair it wins 17 to 80 %, in the other reading 37 to 90 %. The means, 51 % (15..86) and 69 % (42..96), are too uncertain to compare (`connect-four`).",
        ),
        Finding(
            "Minimax of depth 3 widens White's lead in Connect Four, to 85.6 %.",
            "yes",
            "91 % (76..100) and 95 % (86..100) in the two readings. Games have 6.5 and 6.0 moves of the winner, which vary too much by pair to tell from the study's 10.1 (`connect-four-minimax`).",
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
            "in part",
            "If mobility counts whole moves, the longest move of depth 3 takes 4.5 s and a game 23 s, with depth 2 and Monte Carlo 1.2 and 10.6 s; if it counts queen moves, 0.07 and 0.40 s beside 0.02 and 0.24 s (`cost`). Depth 3 costs more, which may have been too much for the computer of the study, but it plays better: it wins 76 % (73..79) against depth 2 with Monte Carlo, both with the weights MP (`depths`).",
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
            "Against McMp, MP is level, drops and rises again, without a large gain.",
            "in part",
            "Its score is 2 at first, -39 (-82..3) after 5,000 moves, and 26 to 47 from 15,000 on: a clear gain (`run-9`).",
        ),
        Finding(
            "Against McMp, Zeros does not learn to play well and Ones ends level, since the step size shrinks before they have.",
            "no",
            "Both lose nearly all at first and are ahead in the end, with the same schedule: over the last ten checks Zeros scores 31 (12..51) and Ones 38 (33..43). One of five seeds of Zeros stays level. The last check of Ones alone, 42 (16..69), is too uncertain to compare (`run-3`, `run-6`).",
        ),
        Finding(
            "When weights converge depends on the run: after 20,000 to 80,000 moves.",
            "no",
            "How far the weights move in 50 moves follows the step size, which is halved every 5,000 moves. This distance is 8 to 17 at first and halves with the step size. In all nine runs it falls below 10 % of that level after 19,000 to 22,000 moves, below 1 % after 36,000 to 38,000 and below 0.1 % after 53,000 to 55,000: what a plot shows depends on its scale (`run-1`, `run-2`, `run-3`, `run-4`, `run-5`, `run-6`, `run-7`, `run-8`, `run-9`). The schedule ends the learning.",
        ),
        Finding(
            "Training against a fairly good opponent gives a stronger player than training against the best: OnesVsAbMp wins the tournament.",
            "yes",
            "In a round robin of all trained players, those trained against AbMp win 66.4 % (64.5..68.2) and those trained against McMp 58.1 % (55.5..60.8); those against AbMp are ahead by 8 points (6..11), though not clearly for any one set of initial weights ([all trainings](across.md#the-trainings-of-amazons-against-each-other)). "
            "OnesVsAbMp wins the study's tournament here, too: 79 % with the weights that the study published, as there, and 79.5 % (74..85) with weights learned here. These win 51 % (38..64) of games against the published ones (`tournament`).",
        ),
        Finding(
            "The best player has large positive weights on its own moves and on the opponent's amazons with one direction and trapped, and the most negative on their mirror images.",
            "yes",
            "In all five seeds of OnesVsAbMp these are the three largest and the three smallest weights (`weights`).",
        ),
        Finding(
            "MpVsMcMp, MP and MpVsRandom follow in this order, with 64, 63 and 61 %.",
            "in part",
            "With the published weights they are level: 55, 58 and 58 %. With weights learned here the order is the study's, 71.5 % (68..75), 55.0 (47..63) and 44.0 (39..50). Against the published weights of the same run those of MpVsMcMp win 61 % (42..80) and those of MpVsRandom 38 % (25..51), which does not exclude level for either. The study's table cannot be one round robin, as its wins and losses do not add up (`tournament`).",
        ),
        Finding(
            "The opponent in training matters more than the weights it begins with.",
            "in part",
            "Because Random teaches little. In a round robin of all trained players, those trained against AbMp, McMp and Random win 66, 58 and 26 %, and those that began from Zeros, Ones and MP 47, 51 and 52 %. The training opponent explains 90 % (83..97) of the variance between the players and the initial weights 4 % (1..6); between AbMp and McMp alone the figures are 32 % (15..49) and 41 % (10..71) "
            "([all trainings](across.md#the-trainings-of-amazons-against-each-other)). Of the study's own three runs, MpVsMcMp gains 16.5 points (11..22) over MP, and MpVsRandom is 11 (-2..24) below it, which does not exclude level (`tournament`).",
        ),
    ),
    "dominion": (
        Finding(
            "Of the scripted players Chapel is the best and Money the second.",
            "yes",
            "With two players Chapel beats all others and Money all but Chapel; with four the order is Blacksmith, Greedy, Chapel, Money, as in the study. The points and shares of the pairs without Random are the study's once Money waits for a third Gold, where the text says two, and a played card is discarded at once; with Random they differ by up to 8 points (`bots-2`, `bots-4`).",
        ),
        Finding(
            "Forced exploration plays well sooner and explores more of a small table.",
            "in part",
            "It explores 1.2 to 1.3 times as many entries in the small table of version 1, in the study 1.2, and 1.4 to 1.6 times in version 0. With the settings that the study names its first good test comes sooner: after 236,000 games for 774,000 in version 1, and 418,000 for 918,000 in version 0. With a falling rate, first values up to 20 and *shaped* neither is clearly sooner: 114,000 and 156,000, 554,000 and 482,000. At the study's rate with *shaped*, and played cards discarded at once, it comes sooner again: after 76,000 games for 190,000 in version 1, in the study 70,000 and 280,000, and 266,000 for 564,000 in version 0, in the study 320,000 and 1,150,000. In the end the two are level (`version-0`, `version-1`).",
        ),
        Finding(
            "Versions 0 and 1 win 53 to 60 %; against whom is not said.",
            "in part",
            "Against Greedy, Blacksmith and Chapel, the likeliest opponents, they win 42 to 45 % with the settings that the study names. With a falling rate, first values up to 20 and *shaped* they win 53 % in version 1, where the study has 54 and 53 % (`version-1`), and 54 % in version 0, where it has 57 and 60 % (`version-0`). With *shaped* at the study's rate, and played cards discarded at once as the tables of the scripted players ask for, they win 50 and 51 % in both. By the same rules version 12 wins 56 to 58 %, where the study has 55 to 58, unless it was trained against Random (`transfer`).",
        ),
        Finding(
            "The agent beats the scripted players.",
            "in part",
            "At tables of four versions 0 and 1 win 42 to 45 %, where an equal player wins 25. Version 23 with the settings that the study names wins 14.6 and 18.2 % against Money, and versions 14.0 and 14.5 27 to 48 % against one Money, where an equal player wins 50 (`version-0`, `version-1`, `version-23-4`, `two-players`). These figures rest on the rules of the text. By the rules that the tables of the scripted players ask for, version 12 wins 62 to 67 % against three Money with the settings that the study names, and 76 to 78 % with *shaped*, in the study 75 to 78, unless it was trained against Random (`transfer`).",
        ),
        Finding(
            "Version 0 is slightly better than version 12, with 369 times its table.",
            "yes",
            "By 3.6 points (1.5..5.7) with epsilon-greedy and 3.3 (1.0..5.6) with forced exploration, after 5,000,000 games (`longest`).",
        ),
        Finding(
            "It suffices to count Coppers up to 8, one Smithy, 2 Golds, 4 Silvers and 12 turns.",
            "in part",
            "For Coppers and Golds this holds. The second Smithy is worth 2.9 points (0.4..5.3) with epsilon-greedy and 3.0 (0.4..5.7) with forced exploration, the turns after the twelfth 6.3 (3.9..8.7) and 4.7 (2.2..7.2); the fifth Silver 2.0 (0.6..3.4) with forced exploration, and no measurable amount with epsilon-greedy (differences of `bounds`).",
        ),
        Finding(
            "Training against Random is the worst, and between the other opponents it matters little.",
            "in part",
            "Between the others it matters little. Against Random it depends on which table is tested. Those with the best test, which against Random comes early, since nearly all its games are won, win 19 % (0..40) against three Money, after training against the others 62 to 67 %; with *shaped* 41 and 76 to 78 %, with a falling rate, too, 54 and 79 to 80 %; in the study 68 and 75 to 78. Of the last tables, that trained against Random wins 47 % (35..59) and the others 50 to 54; with a falling rate all are level, at 76 to 78 (`transfer`).",
        ),
        Finding(
            "For two players version 14.5 is slightly worse than 14.0 with a thirtieth of its table.",
            "in part",
            "It is worse, but not slightly: by 6.2 points (1.2..11.1) with epsilon-greedy, where 14.0 wins 33 %, and by 10.3 (8.2..12.4) with forced exploration, where it wins 48 % (`two-players`).",
        ),
        Finding(
            "With ten kingdom cards it wins 71.98 and 70.78 % against three Money, and from version 19 on epsilon-greedy is ahead.",
            "in part",
            "With what the study names and a reward of victory points, epsilon-greedy and forced exploration win 14.6 and 18.2 % of new games with four players and 2.7 and 7.4 % with two, less than an equal player (`version-23-4`, `version-23-2`). With a reward set by hand, first values up to 20 and ties to the learner's seat, at the study's rate, they win 67.6 % (65.2..70.1) and 67.0 % (65.7..68.4) with four players, and the study's best tests lie where one more training could. With a falling rate and ties at random they win 69.0 and 59.9 % with four, but with two their order is the reverse of the study's. With victory points and a falling rate the order changes at version 19, as in the study, at 55 to 59 % after 1,000,000 games. With *shaped* the difference is within the error in versions 18, 19 and 20 after 5,000,000, and with the settings that the study names nothing overtakes at version 19 (`cards-4`). Other rules for playing action cards, Curses or the end of a game, each changed alone, show no clear difference after 200,000 games, with intervals of up to 30 points. No setting that was tried gives its levels, its change of order at version 19 and its order with two players together: [the figures, and what was tried](dominion-23.md).",
        ),
        Finding(
            "It learns to avoid Copper, to buy Silver, Gold and one Smithy, and no other kingdom card.",
            "in part",
            "With what the study names it does not avoid Copper: a deck, which begins with 7, has 9.3 (9.0..9.6) by epsilon-greedy and 8.6 (7.7..9.5) by forced exploration with four players, 14.4 (13.4..15.4) and 12.8 (11.5..14.0) with two, the study's 7.5 to 7.6. It has 0.0 (0.0..0.1) and 0.1 Smithies (0.0..0.3), with two players 0.4 (0.0..0.9) and 0.8 (0.6..1.0), and 1.3 (0.9..1.7), 1.2 (1.0..1.4), 1.8 (1.4..2.3) and 1.8 Woodcutters (1.2..2.3), of which the study has none (`decks`). With four players, a reward of victory points, a falling rate and first values up to 20, a deck of epsilon-greedy has 7.3 Copper (7.2..7.3), 3.1 Silver (2.9..3.2), 1.4 Gold (1.3..1.4) and 1.0 Smithy (1.0..1.0), in the study 7.5, 3.8, 1.5 and 1.0; one of forced exploration has 7.7 Copper (7.7..7.8), 2.1 Silver (2.0..2.2) and 4.4 other kingdom cards (4.1..4.8) ([what was tried](dominion-23.md#larger-trainings)). *Shaped* takes a point for a Copper and pays for Silver and Gold, and so proves little: with four players epsilon-greedy has 7.0 Copper (6.9..7.1), 5.3 Silver (5.2..5.4) and 1.8 Gold (1.8..1.9), and other kingdom cards number 0.1 (0.0..0.2) and 1.3 (1.2..1.4), with two players 1.4 (1.0..1.8) and 4.4 (3.1..5.7).",
        ),
        Finding(
            "The strategy does not depend on the first values.",
            "in part",
            "In version 12 it does not (`first-values`). In version 23 it does early in training: after 200,000 games with *shaped* and the study's rate, epsilon-greedy wins 12.7 % (5.0..20.4) with first values up to 20 and 1.5 % (0.7..2.3) up to 1, with neither Gold nor Smithy. After 5,000,000 games the intervals overlap, 63.3 % (59.5..67.1) and 51.1 % (36.5..65.8), and decks are alike; forced exploration shows no difference ([the factorial](dominion-23.md#the-factorial)). With a falling rate, after 200,000 games, epsilon-greedy's lead depends on them: up to 20 epsilon-greedy wins 56.4 % (48.7..64.2) and forced exploration 12.0 % (9.9..14.2), up to 1 14.9 % (2.7..27.1) and 41.0 % (11.8..70.2) ([one change at a time](dominion-23.md#one-change-at-a-time)).",
        ),
        Finding(
            "The strategy is believed to be optimal.",
            "no",
            "Not by the study's own figures: with one kingdom card to buy, version 4.13 wins up to 77.99 % against three Money (table 4.4.1), and version 23, which may buy that card too, 71.98 %. Here version 14.5 with a falling rate wins 28.9 % against three Big Money players with two Smithies, with a reward for winning and no discount 31.6 % ([the strongest learner](best.md#dominion)), and version 23 with *shaped* at the study's rate 17.5 %, where an equal player would win 25 % (`optimal`). The optimum is not known.",
        ),
    ),
    "tetris": (
        Finding(
            "Six units set by hand clear about 5,200 rows (figure 4.1).",
            "no",
            "With Dellacherie's published weights they clear 65,058 (53,761..79,753), without loops 57,086 (47,217..69,907). Without row transitions it is 4,022 (3,327..4,925), and without completed rows and wells 5,639 (4,664..6,905): one or two units that did not work would explain the study's figure, as would other weights (`handmade`).",
        ),
        Finding(
            "What is learned on SZ-Tetris does not transfer.",
            "open",
            "It clears 5 rows in Tetris (2..8), but the same search in Tetris itself reaches no more, 5 (3..7; `run-5`), and with loops on 25 (23..27) and 27 (22..33): neither learns much, and no loss by learning on two pieces shows. Units set by hand clear 7,578 of the 8,000 rows that these games allow (`run-0`).",
        ),
        Finding(
            "One game a candidate and 100 candidates give no useful result.",
            "yes",
            "The best vectors clear 53 to 1,712 rows in new games, 489 (0..1,352) on average; those of run 2, with ten times the candidates and five games, 13,774 (5,174..22,373). With loops on they do not clearly differ, 144 (31..258) and 318 (7..629; `run-1`, `run-2`).",
        ),
        Finding(
            "Elitist selection is preferable: 946 rows against 203.",
            "open",
            "After 33 generations, where the study's elitist run ends, the best candidates clear 6,284 rows (1,940..10,627) with it and 7,757 (0..20,864) without: no difference shows (`run-3`, `run-2`). Without it the search reaches 21,383 (9,297..33,469) in 56 generations. Both means are far above the study's figures, as is the solution that the search begins with. One training each cannot separate the two: another elitist one may reach no more than the study's 946.",
        ),
        Finding(
            "Run 2, begun again from its best, does not improve: 62 rows after 100 generations.",
            "in part",
            "After 100 generations the best vectors of two of five seeds clear fewer rows in new games than those they begin with, 12,353 for 18,395 and 1,200 for 13,894, that of one seed as many, 20,430 for 20,377, and those of two seeds more, 20,255 for 2,509 and 19,933 for 13,693 (`run-2b`, `run-2`). The populations of these three seeds reach means of 17,779 to 21,863 rows and rise little in the last generations; those of the other two end at 204 and 80. In the first generation all clear 0.7 to 3.4. With loops on two of five seeds do not improve in 100 generations, and three reach 1,406 to 3,189.",
        ),
        Finding(
            "From the solution set by hand, learning reaches 2,378 rows in 11 generations.",
            "in part",
            "As in the study, learning does not clearly improve on the solution that it begins with: without loops that one clears 28,836 rows (26,045..31,627) in the games of `handmade`, cut at 40,000 rows. The best candidates clear 26,767 (17,648..35,885) in new games, two of five of them more than the start, and a candidate of the last generation 121 on average. The levels differ because the start does (`run-4`).",
        ),
        Finding(
            "From genes of 0.5 the population rises steadily, if slowly: 21 rows after 38 generations.",
            "in part",
            "A candidate clears 2.4 rows (2.2..2.7) on average after 38 generations, and 0.004 after the first; with all seeds most of the rise comes in the last ten. The best has 6.9 (5.9..8.0), a third of the study's, and with loops on 42 (37..47), twice the study's (`run-5`).",
        ),
        Finding(
            "With the loop on, training dies without a message.",
            "no",
            "All runs here are made with loops off, as in the study, and with loops on, and end (`run-0`, `run-1`, `run-2`, `run-2b`, `run-3`, `run-4`, `run-5`). With a sigma of 0.1 the searches from the hand-set solution do much better with loops off, 21,383 rows for 300 (`run-2`) and 6,284 for 291 (`run-3`); with 0.05 no difference shows (`run-4`). From genes of 0.5 they do better with loops on (`run-5`). The reason was not examined.",
        ),
        Finding(
            "No run reaches the goal of 5,200 rows by learning.",
            "in part",
            "From genes of 0.5 no seed does (`run-5`). From the hand-set solution, which itself clears ten times as much here, the vectors of four, three and five of five seeds clear more than 5,200 rows in new games (`run-2`, `run-3`, `run-4`), although a candidate of the first generation clears 0.7 to 1.2 rows on average, in `run-4` 7 to 32. With loops on it is none, none and five. A search over only the weights of the six units, from zeros, reaches the goal with all five: 39,149 to 937,032 rows, where means beyond 400,000 are extrapolated (`goal`). With less variation of biases and weights than of choices, and on 10 x 10, all five searches over all genes improve on the hand-set solution, from 70 to 378 rows on average (320..436; [trainer by trainer](best.md#tetris-trainer-by-trainer)).",
        ),
    ),
    "dots": (
        Finding(
            "Alpha-beta pruning stops working where a player moves again.",
            "no",
            "It is sound if who is to move decides who maximises: no value changes in 1,000 positions, and 36 times fewer are valued (`pruning`).",
        ),
        Finding(
            "On 5 x 5 dots the weights oscillate because the step size c / N shrinks too slowly.",
            "in part",
            "The step size is the cause. On 5 x 5, four turns ahead as in the study, all five trainings shoot up with the step of 4 x 4, to a weight of 7.7 at one seed and of 78 to 46,265 at the others, and return; with a third of it no weight exceeds 2. The greatest are met after 30 to 180 of 600 games, so that the first steps are too large, and not that they shrink too slowly: with steps that shrink faster, c / N², weights reach 481,583 to 122,512,523 and the greatest is still 786 to 22,052,413 in the end, as later steps are too small to bring them back. In the second half of a training weights change by 0.16 (0.13..0.18) between checks, with the larger step by 0.51 (0.30..0.71; `five`). On 6 x 6 the larger step diverges in five of five, a smaller one in none (`six`).",
        ),
        Finding(
            "6 x 6 dots are too slow to learn.",
            "no",
            "Four turns ahead, as in the study, and with at most 1,000,000 positions a decision, a game of self-play takes 0.19 s of one core (0.19..0.20); in 11.5 % of decisions some move is searched less deep for want of positions. It learns in 600 games, about two minutes; play was measured against Random only, who loses all 2,500 games (`six`).",
        ),
        Finding(
            "(No claim: it prints the weights after self-play.)",
            "-",
            "Five or six of seven signs agree with the study's, by seed. The player beats Random in 2,499 of 2,500 games, and perfect play in 9 %, all from the seat that wins with best play: 17 % of those (`weights`).",
        ),
    ),
}
