package dev.dovetail;

import dev.dovetail.Message.Close;
import dev.dovetail.Message.Code;
import dev.dovetail.Message.EnvironmentLookahead;
import dev.dovetail.Message.EnvironmentMessage;
import dev.dovetail.Message.EnvironmentStart;
import dev.dovetail.Message.EnvironmentStep;
import dev.dovetail.Message.Offer;
import dev.dovetail.Message.Open;
import dev.dovetail.Message.Reply;
import dev.dovetail.Message.Role;
import dev.dovetail.Message.Spec;
import dev.dovetail.Message.Turn;
import dev.dovetail.Message.View;
import dev.dovetail.Message.Want;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Holds the environments of one program: one for each match that is open. */
final class EnvironmentHost extends Host {
    /** Matches that could not be opened and whose errors are remembered. */
    private static final int REFUSED_KEPT = 64;

    /** An environment made for a match, and its episode in progress. */
    private static final class Place {
        /** What it is called in errors. */
        final String name;

        final Environment environment;
        final Spec spec;
        /** The frame that answered {@code open}. */
        final byte[] opened;
        /** What the last episode was begun with; null before the first. */
        EnvironmentStart start;
        /** The turn whose actions were asked for last; -1 for the start. */
        long asked;
        /** What that was answered with. */
        byte[] answer;
        /** The turn in it; null if it was an error. */
        Turn turn;

        Place(String name, Environment environment, Spec spec, byte[] opened) {
            this.name = "environment " + name;
            this.environment = environment;
            this.spec = spec;
            this.opened = opened;
        }
    }

    private final Map<String, EnvironmentType> types = new LinkedHashMap<>();
    private final Map<Long, Place> matches = new LinkedHashMap<>();
    private final Map<Long, Place> episodes = new HashMap<>();
    private final Map<Long, byte[]> refused = new Recent<>(REFUSED_KEPT);

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
            out.add(open(open));
        } else if (message instanceof Close close) {
            close(close.match());
        } else if (message instanceof EnvironmentMessage tell) {
            answer(tell.id(), "the environment in message", out, () -> message(tell));
        } else if (message instanceof EnvironmentLookahead ask) {
            answer(ask.id(), "the environment in lookahead", out, () -> lookahead(ask));
        }
    }

    // -- episodes -------------------------------------------------------------------------------------

    private void start(EnvironmentStart start, List<byte[]> out) {
        Place place = matches.get(start.match());
        if (place == null) {
            out.add(encode(error(Code.UNKNOWN, "match " + start.match() + " is not open")
                    .withEpisode(start.episode())));
            return;
        }
        if (episodes.get(start.episode()) == place) {
            if (place.asked == -1) {
                out.add(place.answer);
            }
            return;
        }
        drop(place);
        episodes.put(start.episode(), place);
        place.start = start;
        place.asked = -1;
        try {
            finish(place, place.environment.start(start.seed()));
        } catch (Throwable error) {
            fail(place, Code.CRASHED, failure(error, place.name + " in start"), null);
        }
        out.add(place.answer);
    }

    private void step(EnvironmentStep step, List<byte[]> out) {
        Place place = episodes.get(step.episode());
        if (place == null) {
            return;
        }
        if (step.turn() == place.asked) {
            out.add(place.answer);
            return;
        }
        if (step.turn() != place.asked + 1 || place.turn == null || place.turn.toAct().length == 0) {
            return;
        }
        place.asked = step.turn();
        try {
            finish(place, place.environment.step(new Actions(step.actions())));
        } catch (IllegalActionException error) {
            fail(place, Code.ILLEGAL, oneLine(error.getMessage()), error.seat());
        } catch (Throwable error) {
            fail(place, Code.CRASHED, failure(error, place.name + " in turn " + step.turn()), null);
        }
        out.add(place.answer);
    }

    private void fail(Place place, Code code, String text, Integer seat) {
        place.turn = null;
        place.answer = encode(error(code, text).withEpisode(place.start.episode()).withSeat(seat));
    }

    /** Adds what seats and watchers want, and keeps the turn as the answer. */
    private void finish(Place place, Turn turn) {
        Turn whole = turn.withEpisode(place.start.episode()).withTurn(place.asked + 1);
        if (!place.start.wants().isEmpty()) {
            whole = whole.withSeats(
                    turn.seats().stream().map(view -> wanted(place, turn, view)).toList());
        }
        if (place.start.watched()) {
            whole = whole.withText(place.environment.text(null));
        }
        place.answer = encode(whole);
        place.turn = turn;
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
        if (place.asked + 1 != ask.turn()) {
            throw new DovetailException("the episode is at turn " + (place.asked + 1));
        }
        Lines lines = new Lines(place.environment, ask.seat(), ask.seed(), place.turn, place.spec.seats());
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

    private byte[] open(Open open) {
        Place known = matches.get(open.match());
        if (known != null) {
            return known.opened;
        }
        byte[] failed = refused.get(open.match());
        if (failed != null) {
            return failed;
        }
        String name = open.environment();
        try {
            EnvironmentType type = types.get(name);
            if (type == null) {
                throw new DovetailException("this program makes no environment '" + name + "'");
            }
            Environment environment =
                    type.factory().apply(type.options().read(open.configuration(), "environment " + name));
            Spec spec = environment.init().withMatch(open.match());
            byte[] opened = encode(spec.name().isEmpty() ? spec.withName(name) : spec);
            matches.put(open.match(), new Place(name, environment, spec, opened));
            return opened;
        } catch (Throwable error) {
            String text = describe(error, "environment " + name + " in init");
            byte[] answer = encode(error(Code.UNAVAILABLE, text).withMatch(open.match()));
            refused.put(open.match(), answer);
            return answer;
        }
    }

    private void close(long match) {
        refused.remove(match);
        Place place = matches.remove(match);
        if (place == null) {
            return;
        }
        drop(place);
        try {
            place.environment.cleanup();
        } catch (Throwable error) {
            failure(error, place.name + " in cleanup");
        }
    }

    /** Forgets the episode of a match, if it has one. */
    private void drop(Place place) {
        if (place.start != null) {
            episodes.remove(place.start.episode());
        }
    }

    @Override
    void reset() {
        List.copyOf(matches.keySet()).forEach(this::close);
        refused.clear();
    }
}
