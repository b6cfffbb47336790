package dev.dovetail;

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
        /** The type, for complaints. */
        final String name;

        final Environment environment;
        final Spec spec;
        /** The frame that answered {@code open}. */
        final byte[] opened;

        long episode;
        boolean begun;
        List<List<String>> wants = List.of();
        boolean watched;
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
    void take(Incoming message, List<byte[]> out) {
        if (message instanceof Incoming.Act act) {
            step(act, out);
        } else if (message instanceof Incoming.Begin begin) {
            start(begin, out);
        } else if (message instanceof Incoming.Open open) {
            out.add(open(open));
        } else if (message instanceof Incoming.Close close) {
            close(close.match());
        } else if (message instanceof Incoming.TellMatch tell) {
            answer(tell.id(), "the environment in message", out, () -> {
                Place place = matches.get(tell.match());
                if (place == null) {
                    throw new DovetailException("match " + tell.match() + " is not open");
                }
                return new Outgoing.Reply(tell.id(), place.environment.message(tell.body()));
            });
        } else if (message instanceof Incoming.Ask ask) {
            answer(ask.id(), "the environment in lookahead", out, () -> lookahead(ask));
        }
    }

    // -- episodes -------------------------------------------------------------------------------------

    private void start(Incoming.Begin message, List<byte[]> out) {
        Place place = matches.get(message.match());
        if (place == null) {
            out.add(encode(Outgoing.Error.episode(
                    "unknown", "match " + message.match() + " is not open", message.episode(), null)));
            return;
        }
        if (place.begun && place.episode == message.episode()) {
            if (place.asked == -1) {
                out.add(place.answer);
            }
            return;
        }
        if (place.begun) {
            episodes.remove(place.episode);
        }
        episodes.put(message.episode(), place);
        place.begun = true;
        place.episode = message.episode();
        place.wants = message.wants();
        place.watched = message.watched();
        place.asked = -1;
        try {
            finish(place, place.environment.start(message.seed()));
        } catch (Throwable error) {
            fail(place, "crashed", failure(error, place.name + " in start"), null);
        }
        out.add(place.answer);
    }

    private void step(Incoming.Act message, List<byte[]> out) {
        Place place = episodes.get(message.episode());
        if (place == null) {
            return;
        }
        if (message.turn() == place.asked) {
            out.add(place.answer);
            return;
        }
        if (message.turn() != place.asked + 1 || place.turn == null || place.turn.isOver()) {
            return;
        }
        place.asked = message.turn();
        try {
            finish(place, place.environment.step(new Actions(message.seats(), message.actions())));
        } catch (IllegalActionException error) {
            fail(place, "illegal", oneLine(error.getMessage()), error.seat());
        } catch (Throwable error) {
            fail(place, "crashed", failure(error, place.name + " in turn " + message.turn()), null);
        }
        out.add(place.answer);
    }

    private void fail(Place place, String code, String text, Integer seat) {
        place.turn = null;
        place.answer = encode(Outgoing.Error.episode(code, text, place.episode, seat));
    }

    /** Adds what seats and watchers want, and keeps the turn as the answer. */
    private void finish(Place place, Turn turn) {
        List<View> views = place.wants.isEmpty()
                ? turn.seats()
                : turn.seats().stream().map(view -> wanted(place, turn, view)).toList();
        String text = place.watched ? place.environment.text(null) : null;
        place.answer = encode(new Outgoing.Turned(place.episode, place.asked + 1, turn, views, text));
        place.turn = turn;
    }

    private static View wanted(Place place, Turn turn, View view) {
        int seat = view.seat();
        List<String> wants = seat < place.wants.size() ? place.wants.get(seat) : List.of();
        if (wants.isEmpty()) {
            return view;
        }
        Environment environment = place.environment;
        boolean acts = Arrays.stream(turn.toAct()).anyMatch(each -> each == seat);
        return view.with(
                acts && wants.contains("afterstates") ? environment.afterstates(seat) : null,
                wants.contains("text") ? environment.text(seat) : null,
                wants.contains("scene") ? environment.scene(seat) : null);
    }

    private Outgoing lookahead(Incoming.Ask message) {
        Place place = episodes.get(message.episode());
        if (place == null || place.turn == null) {
            throw new DovetailException("episode " + message.episode() + " is not in progress");
        }
        if (place.asked + 1 != message.turn()) {
            throw new DovetailException("the episode is at turn " + (place.asked + 1));
        }
        Lines lines = new Lines(place.environment, message.seat(), message.seed(), place.turn, place.spec.seats());
        return new Outgoing.Positions(message.id(), lines.play(message.lines()));
    }

    // -- matches --------------------------------------------------------------------------------------

    private byte[] open(Incoming.Open message) {
        Place known = matches.get(message.match());
        if (known != null) {
            return known.opened;
        }
        byte[] failed = refused.get(message.match());
        if (failed != null) {
            return failed;
        }
        String name = message.environment();
        try {
            EnvironmentType type = types.get(name);
            if (type == null) {
                throw new DovetailException("this program makes no environment '" + name + "'");
            }
            Environment environment =
                    type.factory().apply(type.options().read(message.configuration(), "environment " + name));
            Spec spec = environment.init();
            byte[] opened = encode(new Outgoing.Specified(message.match(), name, spec));
            matches.put(message.match(), new Place(name, environment, spec, opened));
            return opened;
        } catch (Throwable error) {
            String text = describe(error, "environment " + name + " in init");
            byte[] answer = encode(Outgoing.Error.match("unavailable", text, message.match(), null));
            refused.put(message.match(), answer);
            return answer;
        }
    }

    private void close(long match) {
        refused.remove(match);
        Place place = matches.remove(match);
        if (place == null) {
            return;
        }
        if (place.begun) {
            episodes.remove(place.episode);
        }
        try {
            place.environment.cleanup();
        } catch (Throwable error) {
            failure(error, place.name + " in cleanup");
        }
    }

    @Override
    void reset() {
        List.copyOf(matches.keySet()).forEach(this::close);
        refused.clear();
    }
}
