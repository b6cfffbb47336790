"""What the studies concluded, and whether it holds here: the first tables of docs/studies/README.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple


class Finding(NamedTuple):
    """A conclusion of a study."""

    says: str
    """The study, with its section."""
    holds: Literal["yes", "no", "in part", "open"]
    here: str
    """What was found here, with the row that shows it."""


FINDINGS: Mapping[str, Sequence[Finding]] = {
    "rlgame": (
        Finding(
            "A game for two does not fit RL-Glue: both players must be faked inside one agent (3.4).",
            "yes",
            "Of RL-Glue. Here two agents sit in two seats, each with its own steps and returns (`pilot`).",
        ),
        Finding(
            "The old and the new program play the same moves (6.3).",
            "yes",
            "50 of 50 games are equal move by move (`old-and-new`).",
        ),
        Finding(
            "Two learners on 8 x 8 end about level, White 54 %, and their games grow long, 218 moves of the winner (6.2).",
            "in part",
            "One pair of networks cannot tell: over five pairs White wins 30 to 92 %. Games grow short, not long: 59 moves (`self-play`).",
        ),
        Finding(
            "Greedy games of learned networks never end, and those of two other networks are all won by White in 13 moves (6.3).",
            "in part",
            "Both happen, to some pairs: 217 of 500 games do not end, and of the other networks White wins 20 % (`old-and-new`).",
        ),
        Finding(
            "Minimax of depth 5 lost because version 1.3 did not see that an entered base ends the game (6.4a).",
            "yes",
            "The error takes White from 97 to 59 % on average, and to 11 to 94 % by pair; the study's 35 % is within (`minimax-bug`).",
        ),
        Finding(
            "Minimax of depth 5 makes White win overwhelmingly, 95.6 % (6.4b).",
            "yes",
            "88 % (71..100) and 91 % (84..99) in two readings of the learner (`minimax`).",
        ),
        Finding(
            "In Connect Four White, who begins, is always ahead: 65.8 % (6.5).",
            "no",
            "The mean over five pairs agrees, but by pair White wins 17 to 80 %, in the other reading 37 to 90 % (`connect-four`).",
        ),
        Finding(
            "Minimax of depth 3 widens White's lead in Connect Four, to 85.6 % (6.6).",
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
            "Depth 3 takes 0.07 s for the first move of a game (`cost`), and wins 75 % against depth 2 with Monte Carlo (`depths`).",
        ),
        Finding(
            "A fairly good opponent in training beats the best one: OnesVsAbMp wins the tournament (7.2).",
            "yes",
            "With the study's weights it wins 79 % here as there (`tournament`).",
        ),
        Finding(
            "MpVsMcMp, MP and MpVsRandom follow in this order (7.2).",
            "no",
            "They are level: 55, 58 and 58 %. The study's table cannot be one round robin, as its wins and losses do not add up (`tournament`).",
        ),
        Finding(
            "The opponent in training matters more than the weights it begins with.",
            "open",
            "So it looks after 5,000 of 100,000 moves: near the maximum against Random and losing against the others, from all three first vectors (`run-1` to `run-9`).",
        ),
    ),
    "dominion": (
        Finding(
            "Of the scripted players Chapel is the best and Money the second (3.3).",
            "yes",
            "With two players Money is second only if Blacksmith turns to victory cards below 3 Provinces, not below 4 as the text says (`bots-2`).",
        ),
        Finding(
            "Forced exploration plays well sooner and explores more of a small table (4.1, 4.2).",
            "yes",
            "Its first good test comes after 418,000 games, by epsilon-greedy after 918,000, with 1.6 times the entries (`version-0`); in version 1 it is the same (`version-1`).",
        ),
        Finding(
            "Versions 0 and 1 win 53 to 60 % against Greedy, Blacksmith and Chapel.",
            "in part",
            "With the learning rate that the study names 42 to 45 %; with one that falls with visits 53 % in version 1, where the study has 54 and 53 % (`version-1`), and 54 % in version 0, where it has 57 and 60 % (`version-0`).",
        ),
        Finding(
            "Coppers to 8, one Smithy, 2 Golds, 4 Silvers and 12 turns are enough to know (4.3).",
            "in part",
            "Coppers and Golds are. The second Smithy is worth 3 points, the fifth Silver 2, turns beyond 12 about 5 (`bounds`).",
        ),
        Finding(
            "Training against Random is the worst, and between the other opponents it matters little (4.4).",
            "yes",
            "Wins against three Money: 9 %, and 53 to 56 % (`transfer`).",
        ),
        Finding(
            "For two players version 14.5 is slightly worse than 14.0 with a thirtieth of its table (5.1).",
            "in part",
            "It is worse by 6 and by 10 points (`two-players`).",
        ),
        Finding(
            "With ten kingdom cards it wins 71.98 and 70.78 % against three Money, and from version 19 on epsilon-greedy is ahead (5.3).",
            "in part",
            "15 and 19 % with what the study names. With a learning rate that falls, high first values and a reward set by hand 69.8 and 60.6 % (`version-23-4`), with two players 72 and 37 % for the study's 67 and 76 % (`version-23-2`), and with four epsilon-greedy is ahead from about version 19 on ([what was tried](dominion-23.md)).",
        ),
        Finding(
            "It learns to leave Copper, to buy Silver, Gold and one Smithy, and no other kingdom card.",
            "yes",
            "With the same settings a deck has 1.0 Smithy, 1.8 Gold and 5.3 Silver, in the study 1.0, 1.5 and 3.8 (`decks`).",
        ),
        Finding(
            "The strategy does not depend on the first values (5.8).",
            "in part",
            "It does not in version 12 (`first-values`). With ten kingdom cards it does: what is not expected to be good is not tried ([what was tried](dominion-23.md)).",
        ),
        Finding(
            "The strategy is believed to be optimal (5.9).",
            "open",
            "Version 14.5, with a falling learning rate, wins 28.9 % where three Big Money with two Smithies leave 25 % to an equal; the optimum is not known (`optimal`).",
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
            "291 and 300 rows over five seeds each: the study's two runs differ by luck (`run-3`, `run-2`).",
        ),
        Finding(
            "From the solution set by hand, learning reaches 2,378 rows in 11 generations.",
            "no",
            "It reaches 26,945, which is less than the solution clears that it begins with; the mean candidate clears 77 (`run-4`).",
        ),
        Finding(
            "From genes of 0.5 the population rises steadily, if slowly: 21 rows after 38 generations.",
            "yes",
            "27 rows in new games, and the best comes last in three of five seeds (`run-5`).",
        ),
        Finding(
            "No run reaches the goal of 5,200 rows by learning.",
            "in part",
            "None does with all 192 genes. With the weights of the six units alone all five seeds do: 39,149 to 937,032 rows (`goal`).",
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
            "yes",
            "A third of the step makes a third of the change between checks, 0.18 for 0.55; on 6 x 6 the larger step diverges in five of five trainings (`five`, `six`).",
        ),
        Finding(
            "6 x 6 dots are too slow to learn.",
            "no",
            "A game of self-play takes a third of a second (`six`).",
        ),
        Finding(
            "Self-play finds the weights of a good player.",
            "in part",
            "Six of seven signs agree with the study's. The player beats Random always, and perfect play in 9 % of games (`weights`).",
        ),
    ),
}
