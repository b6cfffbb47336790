package dev.dovetail.examples.td;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Features of a Connect Four position: what stands on each line of squares that could win.
 *
 * <p>A square is empty, own, foreign, or the one on which the next disc of its column falls; so a line of n squares
 * has 4^n patterns. Each line counts twice: in a table that it shares with its mirror image only, and in one that it
 * shares with all lines of its direction, which makes what is learnt on one square known on the others.
 */
final class LinePatterns {
    private static final int EMPTY = 0;
    private static final int OWN = 1;
    private static final int FOREIGN = 2;
    private static final int NEXT = 3;
    private static final int[][] DIRECTIONS = {{0, 1}, {1, 0}, {1, 1}, {-1, 1}};
    /** Both diagonals mirror one another. */
    private static final int[] SHARED = {0, 1, 2, 2};

    final int rows;
    final int columns;
    final int connect;
    private final int patterns;
    private final int[][] lines;
    /** By line, where its own table and that of its direction begin. */
    private final int[] own;
    private final int[] shared;
    private final int size;

    LinePatterns(int rows, int columns, int connect) {
        this.rows = rows;
        this.columns = columns;
        this.connect = connect;
        patterns = 1 << 2 * connect;
        List<int[]> found = new ArrayList<>();
        List<Integer> ownTables = new ArrayList<>();
        List<Integer> sharedTables = new ArrayList<>();
        Map<String, Integer> known = new HashMap<>();
        int next = 3 * patterns;
        for (int direction = 0; direction < DIRECTIONS.length; direction++) {
            for (int row = 0; row < rows; row++) {
                for (int column = 0; column < columns; column++) {
                    int[] line = line(row, column, DIRECTIONS[direction]);
                    if (line == null || known.containsKey(key(line))) {
                        continue;
                    }
                    int[] mirrored = Arrays.stream(line).map(this::mirror).toArray();
                    known.put(key(line), next);
                    found.add(line);
                    ownTables.add(next);
                    sharedTables.add(SHARED[direction] * patterns);
                    if (known.putIfAbsent(key(mirrored), next) == null) {
                        found.add(mirrored);
                        ownTables.add(next);
                        sharedTables.add(SHARED[direction] * patterns);
                    }
                    next += patterns;
                }
            }
        }
        lines = found.toArray(int[][]::new);
        own = ownTables.stream().mapToInt(each -> each).toArray();
        shared = sharedTables.stream().mapToInt(each -> each).toArray();
        size = next;
    }

    private int[] line(int row, int column, int[] step) {
        int[] line = new int[connect];
        for (int i = 0; i < connect; i++) {
            int r = row + i * step[0];
            int c = column + i * step[1];
            if (r < 0 || r >= rows || c >= columns) {
                return null;
            }
            line[i] = r * columns + c;
        }
        return line;
    }

    private int mirror(int square) {
        return square - square % columns + columns - 1 - square % columns;
    }

    private static String key(int[] line) {
        int[] sorted = line.clone();
        Arrays.sort(sorted);
        return Arrays.toString(sorted);
    }

    /** How many weights there are. */
    int size() {
        return size;
    }

    /** How many of them make up the value of a position. */
    int active() {
        return 2 * lines.length;
    }

    /**
     * The places of the weights that make up the value of a position.
     *
     * @param planes own discs, then foreign ones, row 0 at the bottom, beginning at {@code from}
     */
    int[] of(byte[] planes, int from) {
        int squares = rows * columns;
        int[] state = new int[squares];
        for (int column = 0; column < columns; column++) {
            boolean open = false;
            for (int square = column; square < squares; square += columns) {
                if (planes[from + square] != 0) {
                    state[square] = OWN;
                } else if (planes[from + squares + square] != 0) {
                    state[square] = FOREIGN;
                } else {
                    state[square] = open ? EMPTY : NEXT;
                    open = true;
                }
            }
        }
        int[] places = new int[2 * lines.length];
        for (int i = 0; i < lines.length; i++) {
            int pattern = 0;
            for (int square : lines[i]) {
                pattern = pattern << 2 | state[square];
            }
            places[2 * i] = own[i] + pattern;
            places[2 * i + 1] = shared[i] + pattern;
        }
        return places;
    }
}
