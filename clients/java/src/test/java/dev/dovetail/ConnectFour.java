package dev.dovetail;

import dev.dovetail.Message.Spec;
import dev.dovetail.Message.Turn;
import dev.dovetail.Message.View;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/** Connect Four on 6 rows and 7 columns, as Dovetail's own environment of this name shows it. */
public final class ConnectFour implements Environment {
    private static final int ROWS = 6;
    private static final int COLUMNS = 7;
    private static final int SQUARES = ROWS * COLUMNS;

    private final byte[][] discs = new byte[2][SQUARES];
    private int moves;

    @Override
    public Spec init() {
        Space box = Space.Box.of(2, ROWS, COLUMNS).withLow(0).withHigh(1).withDtype("uint8");
        return Spec.of()
                .withSeats(2)
                .withObservationSpaces(List.of(box))
                .withActionSpaces(List.of(Space.Discrete.of(COLUMNS)))
                .withRewardRange(-1, 1)
                .withMaxTurns((long) SQUARES)
                .withAfterstates(true);
    }

    @Override
    public Turn start(long seed) {
        for (byte[] each : discs) {
            Arrays.fill(each, (byte) 0);
        }
        moves = 0;
        return turn();
    }

    private int fall(int column) {
        int square = column;
        while (square < SQUARES && discs[0][square] + discs[1][square] != 0) {
            square += COLUMNS;
        }
        return square;
    }

    private long[] legal() {
        return LongStream.range(0, COLUMNS).filter(each -> fall((int) each) < SQUARES).toArray();
    }

    @Override
    public Turn step(JointAction actions) {
        int mover = moves & 1;
        int square = fall((int) actions.sole(mover));
        if (square >= SQUARES) {
            throw new IllegalActionException(mover, "the column is full");
        }
        discs[mover][square] = 1;
        moves++;
        if (wins(mover, square)) {
            double[] outcome = new double[2];
            outcome[mover] = 1;
            return over(outcome, mover == 0 ? 1 : -1);
        }
        return moves == SQUARES ? over(new double[] {0.5, 0.5}, 0) : turn();
    }

    private Turn turn() {
        int mover = moves & 1;
        return TurnFactory.ask(mover, view(mover, 0).withLegal(Legal.of(legal())));
    }

    private Turn over(double[] outcome, double first) {
        return TurnFactory.end(outcome, view(0, first), view(1, -first));
    }

    private boolean wins(int mover, int square) {
        int[][] directions = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
        for (int[] each : directions) {
            if (1 + count(mover, square, each[0], each[1]) + count(mover, square, -each[0], -each[1]) >= 4) {
                return true;
            }
        }
        return false;
    }

    private int count(int mover, int square, int up, int right) {
        int row = square / COLUMNS + up;
        int column = square % COLUMNS + right;
        int count = 0;
        while (row >= 0 && row < ROWS && column >= 0 && column < COLUMNS
                && discs[mover][row * COLUMNS + column] != 0) {
            count++;
            row += up;
            column += right;
        }
        return count;
    }

    private byte[] planes(int seat) {
        byte[] planes = new byte[2 * SQUARES];
        System.arraycopy(discs[seat], 0, planes, 0, SQUARES);
        System.arraycopy(discs[1 - seat], 0, planes, SQUARES, SQUARES);
        return planes;
    }

    private View view(int seat, double reward) {
        return View.of(seat).withObservation(Tensor.ofBytes(planes(seat), 2, ROWS, COLUMNS)).withReward(reward);
    }

    @Override
    public Object afterstates(int seat) {
        long[] legal = legal();
        byte[] rows = new byte[legal.length * 2 * SQUARES];
        for (int i = 0; i < legal.length; i++) {
            System.arraycopy(planes(seat), 0, rows, i * 2 * SQUARES, 2 * SQUARES);
            rows[i * 2 * SQUARES + fall((int) legal[i])] = 1;
        }
        return Tensor.ofBytes(rows, legal.length, 2, ROWS, COLUMNS);
    }
}
