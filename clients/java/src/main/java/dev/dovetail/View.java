package dev.dovetail;

/**
 * What a transition means to one seat.
 *
 * @param seat the seat
 * @param observation what it sees, in its observation space
 * @param legal what it may do: {@code long[]} of action numbers in rising order, {@code byte[]} of a mask, or null for
 *     whatever its action space contains
 * @param reward earned in this transition
 * @param afterstates one row per legal action; the host asks the environment for them
 * @param text the position as this seat may see it; the host asks for it
 * @param scene the same to be drawn; the host asks for it
 */
public record View(
        int seat, Object observation, Object legal, double reward, Object afterstates, String text, Object scene) {
    /**
     * A view without what seats may want besides.
     *
     * @param seat the seat
     * @param observation what it sees
     * @param legal {@code long[]}, {@code byte[]} or null
     * @param reward earned in this transition
     */
    public View(int seat, Object observation, Object legal, double reward) {
        this(seat, observation, legal, reward, null, null, null);
        if (legal != null && !(legal instanceof long[]) && !(legal instanceof byte[])) {
            throw new IllegalArgumentException("legal actions are a long[], a byte[] or null");
        }
    }

    View with(Object afterstates, String text, Object scene) {
        return new View(seat, observation, legal, reward, afterstates, text, scene);
    }

    static View read(Fields f) {
        return new View(
                f.small("seat", f.integer("seat"), 0),
                f.any("observation"),
                Legal.read(f, "legal"),
                f.number("reward", 0),
                f.any("afterstates"),
                f.textOrNil("text"),
                f.any("scene"));
    }

    void write(Encoder out) {
        int fields = 3
                + (legal == null ? 0 : 1)
                + (afterstates == null ? 0 : 1)
                + (text == null ? 0 : 1)
                + (scene == null ? 0 : 1);
        out.map(fields).field("seat", seat).field("observation", observation).field("reward", reward);
        if (legal != null) {
            out.field("legal", legal);
        }
        if (afterstates != null) {
            out.field("afterstates", afterstates);
        }
        if (text != null) {
            out.field("text", text);
        }
        if (scene != null) {
            out.field("scene", scene);
        }
    }
}
