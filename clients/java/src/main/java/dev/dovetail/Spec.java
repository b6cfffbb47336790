package dev.dovetail;

import java.util.List;

/**
 * What a seat can expect of an environment.
 *
 * @param name what the game is called; empty for the name of the offer
 * @param seats how many there are, numbered from 0
 * @param observationSpaces one per seat, or one for all
 * @param actionSpaces one per seat, or one for all
 * @param rewardRange lowest and highest reward of one transition; null if not known
 * @param discount the factor that the game means its returns to be read with
 * @param perfectInformation whether a watcher may see what any seat sees
 * @param afterstates whether the environment can add them
 * @param forfeit reward of the seat to blame and of every other one, when an episode is forfeited; or null
 * @param maxTurns no episode has more turns than this; null if not known
 * @param symmetries of observation and afterstates, without the identity
 */
public record Spec(
        String name,
        int seats,
        List<Space> observationSpaces,
        List<Space> actionSpaces,
        double[] rewardRange,
        double discount,
        boolean perfectInformation,
        boolean afterstates,
        double[] forfeit,
        Long maxTurns,
        List<Symmetry> symmetries) {

    /**
     * Begins a spec with the same spaces for all seats.
     *
     * @param seats how many there are
     * @param observation what each of them sees
     * @param action what each of them can do
     * @return the spec; the other fields have their defaults
     */
    public static Spec of(int seats, Space observation, Space action) {
        return new Spec("", seats, List.of(observation), List.of(action), null, 1, true, false, null, null, List.of());
    }

    /**
     * Names the lowest and highest reward of one transition.
     *
     * @param low the lowest
     * @param high the highest
     * @return the spec with them
     */
    public Spec withRewards(double low, double high) {
        return new Spec(name, seats, observationSpaces, actionSpaces, new double[] {low, high}, discount,
                perfectInformation, afterstates, forfeit, maxTurns, symmetries);
    }

    /**
     * Says how long an episode can be.
     *
     * @param turns the most turns
     * @return the spec with it
     */
    public Spec withMaxTurns(long turns) {
        return new Spec(name, seats, observationSpaces, actionSpaces, rewardRange, discount, perfectInformation,
                afterstates, forfeit, turns, symmetries);
    }

    /**
     * Says that the environment can add afterstates.
     *
     * @return the spec with it
     */
    public Spec withAfterstates() {
        return new Spec(name, seats, observationSpaces, actionSpaces, rewardRange, discount, perfectInformation,
                true, forfeit, maxTurns, symmetries);
    }

    /**
     * Gives the game a name.
     *
     * @param name the name
     * @return the spec with it
     */
    public Spec withName(String name) {
        return new Spec(name, seats, observationSpaces, actionSpaces, rewardRange, discount, perfectInformation,
                afterstates, forfeit, maxTurns, symmetries);
    }

    /**
     * Returns what a seat sees.
     *
     * @param seat its number
     * @return the space; null if the spec has none
     */
    public Space observationSpace(int seat) {
        return ofSeat(observationSpaces, seat);
    }

    /**
     * Returns what a seat can do.
     *
     * @param seat its number
     * @return the space; null if the spec has none
     */
    public Space actionSpace(int seat) {
        return ofSeat(actionSpaces, seat);
    }

    private static Space ofSeat(List<Space> spaces, int seat) {
        if (spaces.size() == 1) {
            return spaces.get(0);
        }
        return seat < spaces.size() ? spaces.get(seat) : null;
    }

    static Spec read(Fields fields) {
        double discount = fields.number("discount", 1, 0);
        if (discount > 1) {
            throw fields.invalid("discount", "at most 1");
        }
        Long most = fields.integerOrNil("max_turns");
        if (most != null && most < 1) {
            throw fields.invalid("max_turns", "an integer of at least 1");
        }
        return new Spec(
                fields.text("name", ""),
                fields.small("seats", 1, 1),
                fields.list("observation_spaces", Space::of),
                fields.list("action_spaces", Space::of),
                pair(fields, "reward_range"),
                discount,
                fields.bool("perfect_information", true),
                fields.bool("afterstates", false),
                pair(fields, "forfeit"),
                most,
                fields.inners("symmetries", Symmetry::read));
    }

    private static double[] pair(Fields fields, String name) {
        double[] found = fields.numbersOrNil(name);
        if (found != null && found.length != 2) {
            throw fields.invalid(name, "two numbers");
        }
        return found;
    }

    void write(Encoder out, long match, String offer) {
        out.message("spec", 12)
                .field("match", match)
                .field("name", name.isEmpty() ? offer : name)
                .field("seats", seats)
                .field("observation_spaces", observationSpaces)
                .field("action_spaces", actionSpaces)
                .field("reward_range", rewardRange)
                .field("discount", discount)
                .field("perfect_information", perfectInformation)
                .field("afterstates", afterstates)
                .field("forfeit", forfeit)
                .field("max_turns", maxTurns)
                .key("symmetries")
                .array(symmetries.size());
        symmetries.forEach(each -> each.write(out));
    }
}
