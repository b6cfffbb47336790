package dev.dovetail;

import java.util.Arrays;
import java.util.List;

/**
 * A seat and what belongs to it: an action or an observation.
 *
 * @param seat the seat
 * @param value its value
 */
public record SeatValue(int seat, Object value) implements Encodable {
    @Override
    public List<Object> toWire() {
        return Arrays.asList(seat, value);
    }

    static SeatValue read(Object value) {
        if (value instanceof List<?> pair && pair.size() == 2) {
            return new SeatValue(Reader.INDEX.read(pair.get(0)), pair.get(1));
        }
        throw ProtocolException.invalid("must hold pairs of a seat and a value");
    }
}
