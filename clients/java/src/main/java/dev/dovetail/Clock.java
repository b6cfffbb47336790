package dev.dovetail;

/**
 * What a seat may use, and what its last answer took; in seconds at the broker.
 *
 * @param decision what this decision may take; null is no limit
 * @param left what the seat has left for the episode, this decision included; null is no limit
 * @param last what the seat's last answer took; null before the first
 */
public record Clock(Double decision, Double left, Double last) {
    static Clock read(Fields fields) {
        return fields == null
                ? null
                : new Clock(fields.numberOrNil("decision"), fields.numberOrNil("left"), fields.numberOrNil("last"));
    }
}
