package dev.dovetail;

import dev.dovetail.Message.Close;
import dev.dovetail.Message.Code;
import dev.dovetail.Message.EnvironmentLookahead;
import dev.dovetail.Message.EnvironmentMessage;
import dev.dovetail.Message.EnvironmentStart;
import dev.dovetail.Message.EnvironmentStep;
import dev.dovetail.Message.Error;
import dev.dovetail.Message.Offer;
import dev.dovetail.Message.Open;
import dev.dovetail.Message.Preview;
import dev.dovetail.Message.Reply;
import dev.dovetail.Message.Role;
import dev.dovetail.Message.Spec;
import dev.dovetail.Message.Turn;
import dev.dovetail.Message.View;
import dev.dovetail.Message.Want;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** Holds the environments of one program: one for each match that is open. */
final class EnvironmentHost extends Host {
    /** An environment made for a match, and its episode in progress. */
    private static final class Place {
        /** Its name in errors. */
        final String name;

        final Environment environment;
        int seats;
        /** The start of the current or last episode; null before the first. */
        EnvironmentStart start;
        /** True if watchers are shown the text of every turn, and its scene. */
        boolean texts;

        boolean scenes;
        /** True if they are shown those of the next turn. */
        boolean nextText;

        boolean nextScene;
        /** The episode's last turn; null before the first, and if the rules failed. */
        Turn turn;
        /** The number of the frame that it answers. */
        long seq;

        Place(String name, Environment environment) {
            this.name = "environment " + name;
            this.environment = environment;
        }

        /** Heeds what a start or step asks for watchers. */
        void watch(boolean text, boolean scene, boolean once) {
            nextText = texts || text;
            nextScene = scenes || scene;
            if (!once) {
                texts = nextText;
                scenes = nextScene;
            }
        }
    }

    private final Map<String, EnvironmentType> types = new LinkedHashMap<>();
    private final Map<Long, Place> matches = new LinkedHashMap<>();
    private final Map<Long, Place> episodes = new HashMap<>();

    EnvironmentHost(List<EnvironmentType> types) {
        types.forEach(each -> this.types.put(each.name(), each));
    }

    @Override
    Role role() {
        return Role.ENVIRONMENT;
    }

    @Override
    List<Offer> offers() {
        return types.values().stream().map(EnvironmentType::offer).toList();
    }

    @Override
    void take(Message message, List<byte[]> out) {
        if (message instanceof EnvironmentStep step) {
            step(step, out);
        } else if (message instanceof EnvironmentStart start) {
            start(start, out);
        } else if (message instanceof Open open) {
            answer(open.seq(), out, () -> open(open), error -> {
                close(open.match()); // what was made for it, if init failed
                return refusal(error, "environment " + open.environment() + " in init").withAnswers(open.seq());
            });
        } else if (message instanceof Close close) {
            close(close.match());
        } else if (message instanceof EnvironmentMessage tell) {
            reply(tell.id(), tell.seq(), "the environment in message", out, () -> message(tell));
        } else if (message instanceof EnvironmentLookahead ask) {
            reply(ask.id(), ask.seq(), "the environment in lookahead", out, () -> lookahead(ask));
        }
    }

    // -- episodes -------------------------------------------------------------------------------------

    private void start(EnvironmentStart start, List<byte[]> out) {
        Place place = matches.get(start.match());
        if (place == null) {
            refuse(start.seq(), Code.UNKNOWN, "match " + start.match() + " is not open", out);
            return;
        }
        drop(place);
        episodes.put(start.episode(), place);
        place.start = start;
        place.texts = false;
        place.scenes = false;
        place.watch(start.watched(), start.scenes(), start.once());
        play(place, start.seq(), 0, out, () -> place.environment.start(start.seed()));
    }

    private void step(EnvironmentStep step, List<byte[]> out) {
        Place place = episodes.get(step.episode());
        if (place == null || !isAt(place, step.turn()) || place.turn.toAct().length == 0) {
            refuse(step.seq(), Code.UNKNOWN,
                    "episode " + step.episode() + " does not wait for actions in turn " + step.turn(), out);
            return;
        }
        place.watch(step.watched(), step.scenes(), step.once());
        play(place, step.seq(), step.turn() + 1, out, () -> place.environment.step(new JointAction(step.actions())));
    }

    private static boolean isAt(Place place, long turn) {
        return place.turn != null && place.turn.turn() == turn;
    }

    /** Answers with the turn that some work leads to. */
    private void play(Place place, long seq, long turn, List<byte[]> out, Supplier<Turn> work) {
        inbox.forget(place.seq);
        place.seq = seq;
        answer(seq, out, () -> place.turn = whole(place, work.get()).withTurn(turn), error -> {
            if (error instanceof IllegalActionException illegal) {
                return Error.of(Code.ILLEGAL.toWire(), oneLine(error.getMessage()))
                        .withSeat(illegal.seat())
                        .withAnswers(seq);
            }
            place.turn = null; // the rules may be between two positions
            return crash(error, place.name + (turn == 0 ? " in start" : " in turn " + (turn - 1))).withAnswers(seq);
        });
    }

    /** Adds what seats and watchers want. */
    private static Turn whole(Place place, Turn turn) {
        Turn whole = turn.withEpisode(place.start.episode());
        if (!place.start.wants().isEmpty()) {
            whole = whole.withSeats(
                    turn.seats().stream().map(view -> wanted(place, turn, view)).toList());
        }
        if (place.nextText) {
            whole = whole.withText(place.environment.text(null));
        }
        return place.nextScene ? whole.withScene(place.environment.scene(null)) : whole;
    }

    private static View wanted(Place place, Turn turn, View view) {
        int seat = view.seat();
        List<List<Want>> all = place.start.wants();
        List<Want> wants = seat < all.size() ? all.get(seat) : List.of();
        Environment environment = place.environment;
        if (wants.contains(Want.AFTERSTATES) && Arrays.stream(turn.toAct()).anyMatch(each -> each == seat)) {
            view = view.withAfterstates(environment.afterstates(seat));
        }
        if (wants.contains(Want.TEXT)) {
            view = view.withText(environment.text(seat));
        }
        return wants.contains(Want.SCENE) ? view.withScene(environment.scene(seat)) : view;
    }

    private Message lookahead(EnvironmentLookahead ask) {
        Place place = episodes.get(ask.episode());
        if (place == null || place.turn == null) {
            throw new DovetailException("episode " + ask.episode() + " is not in progress");
        }
        if (!isAt(place, ask.turn())) {
            throw new DovetailException("the episode is at turn " + place.turn.turn());
        }
        Lines lines = new Lines(place.environment, ask.seat(), ask.seed(), place.turn, place.seats);
        return Reply.of(ask.id()).withBody(lines.play(ask.lines()));
    }

    // -- matches --------------------------------------------------------------------------------------

    private Message message(EnvironmentMessage tell) {
        Place place = matches.get(tell.match());
        if (place == null) {
            throw new DovetailException("match " + tell.match() + " is not open");
        }
        return Reply.of(tell.id()).withBody(place.environment.message(tell.body()));
    }

    private Message open(Open open) {
        String name = open.environment();
        EnvironmentType type = types.get(name);
        if (type == null) {
            throw new DovetailException("this program makes no environment '" + name + "'");
        }
        Environment environment =
                type.factory().apply(type.options().read(open.configuration(), "environment " + name));
        Place place = new Place(name, environment);
        matches.put(open.match(), place);
        Spec spec = environment.init().withMatch(open.match());
        place.seats = spec.seats();
        return spec.name().isEmpty() ? spec.withName(name) : spec;
    }

    private void close(long match) {
        Place place = matches.remove(match);
        if (place == null) {
            return;
        }
        drop(place);
        try {
            place.environment.cleanup();
        } catch (Throwable error) {
            crash(error, place.name + " in cleanup");
        }
    }

    /** Forgets the episode of a match, if it has one. */
    private void drop(Place place) {
        if (place.start != null) {
            episodes.remove(place.start.episode());
        }
        place.turn = null;
    }

    @Override
    void reset() {
        List.copyOf(matches.keySet()).forEach(this::close);
    }

    /** Plays lines of actions on forks of an episode, to look ahead. */
    private static final class Lines {
        private final Environment root;
        private final int seat;
        private final long seed;
        private final Preview first;

        Lines(Environment root, int seat, long seed, Turn turn, int seats) {
            this.root = root;
            this.seat = seat;
            this.seed = seed;
            first = Preview.of().withToAct(turn.toAct()).withRewards(new double[seats]);
        }

        /** A line that continues the one before it is played from there, so depth-first order is cheap. */
        List<Preview> play(List<List<List<Object>>> lines) {
            Environment here = null;
            Preview position = first;
            List<List<Object>> done = new ArrayList<>();
            List<Preview> found = new ArrayList<>(lines.size());
            for (List<List<Object>> line : lines) {
                boolean continues = here != null
                        && position.error().isEmpty()
                        && line.size() >= done.size()
                        && line.subList(0, done.size()).equals(done);
                if (!continues) {
                    here = root.fork(seat, seed);
                    position = first;
                    done.clear();
                }
                for (List<Object> actions : line.subList(done.size(), line.size())) {
                    position = after(here, position, actions);
                    if (!position.error().isEmpty()) {
                        break;
                    }
                    done.add(actions);
                }
                found.add(position);
            }
            return found;
        }

        private static Preview after(Environment environment, Preview before, List<Object> actions) {
            int[] toAct = before.toAct();
            if (toAct.length == 0) {
                return before.withError("the episode would be over");
            }
            if (actions.size() != toAct.length) {
                return before.withError(actions.size() + " actions for the seats " + Arrays.toString(toAct));
            }
            List<SeatValue> all = new ArrayList<>();
            for (Object each : actions) {
                all.add(new SeatValue(toAct[all.size()], each));
            }
            Turn turn;
            try {
                turn = environment.step(new JointAction(all));
            } catch (IllegalActionException refused) {
                return before.withError(refused.getMessage());
            }
            double[] rewards = before.rewards().clone();
            for (View view : turn.seats()) {
                rewards[view.seat()] += view.reward();
            }
            return Preview.of()
                    .withToAct(turn.toAct())
                    .withSeats(turn.seats())
                    .withRewards(rewards)
                    .withTerminated(turn.terminated())
                    .withTruncated(turn.truncated())
                    .withOutcome(turn.outcome())
                    .withApplied(before.applied() + 1);
        }
    }
}
