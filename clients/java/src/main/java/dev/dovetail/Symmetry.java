package dev.dovetail;

import java.util.List;

/**
 * A way to turn or mirror the game that changes nothing about it.
 *
 * @param observation the symmetric observation's elements in row-major order, as places in the observation's
 * @param actions the number of the symmetric action by action number; empty if it is not told
 */
public record Symmetry(List<Long> observation, List<Long> actions) {
    static Symmetry read(Fields fields) {
        fields.required("observation");
        return new Symmetry(fields.integers("observation"), fields.integers("actions"));
    }

    void write(Encoder out) {
        out.map(2).field("observation", observation).field("actions", actions);
    }
}
