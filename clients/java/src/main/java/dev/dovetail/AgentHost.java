package dev.dovetail;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Holds the agents of one program: instances, their seats, and the episodes that these are in. */
final class AgentHost extends Host {
    /** Ended episodes that are remembered, so that what comes twice is not played twice. */
    private static final int ENDED_KEPT = 4096;

    /** A seat of a match or of an episode. */
    private record Place(long of, int seat) {}

    /** An agent and the name of its type. */
    private record Player(Agent agent, String name) {}

    private record Sitting(Player player, Seat seat) {}

    /** A seat's episode in progress. */
    private static final class Play {
        final Player player;
        final Seat seat;
        final boolean learn;
        final long seed;
        final SplittableRandom random;
        long turn = -1;
        /** The frame that answers this turn; null while a lookahead is under way. */
        byte[] answer;

        Decision decision;
        Lookahead question;
        long asked;
        byte[] asking;

        Play(Sitting sitting, Incoming.Decide.First first) {
            player = sitting.player;
            seat = sitting.seat;
            learn = first.learn();
            seed = first.seed();
            random = new SplittableRandom(seed);
        }
    }

    private final Map<String, AgentType> types = new LinkedHashMap<>();
    private final Player single;
    private final Map<Long, Player> instances = new LinkedHashMap<>();
    private final Map<Place, Sitting> seats = new HashMap<>();
    private final Map<Place, Play> playing = new LinkedHashMap<>();
    private final Map<Place, Boolean> ended = new Recent<>(ENDED_KEPT);
    private final Map<Long, Play> thinking = new HashMap<>();
    private long questions;

    /** Makes instances of types. */
    AgentHost(List<AgentType> types) {
        types.forEach(each -> this.types.put(each.name(), each));
        single = null;
    }

    /** Is one agent, which experiments seat by its name. */
    AgentHost(String name, Agent agent) {
        single = new Player(agent, name);
    }

    @Override
    Role role() {
        return Role.AGENT;
    }

    @Override
    List<Offer> offers() {
        if (single != null) {
            return List.of(new Offer(single.name, "", new Options(), List.of(), 1, true));
        }
        return types.values().stream().map(AgentType::offer).toList();
    }

    @Override
    void take(Incoming message, List<byte[]> out) {
        if (message instanceof Incoming.Decide decide) {
            decide(decide, out);
        } else if (message instanceof Incoming.Ended end) {
            end(end, out);
        } else if (message instanceof Incoming.Init init) {
            init(init, out);
        } else if (message instanceof Incoming.Leave leave) {
            seats.keySet().removeIf(each -> each.of == leave.match());
        } else if (message instanceof Incoming.Reply reply) {
            answered(thinking.remove(reply.id()), reply, out);
        } else if (message instanceof Incoming.Error error) {
            if (error.id() != null) {
                answered(thinking.remove(error.id()), error, out);
            }
        } else if (message instanceof Incoming.Request request) {
            answer(request.id(), where(request), out, () -> request(request));
        }
    }

    // -- decisions ------------------------------------------------------------------------------------

    private void decide(Incoming.Decide message, List<byte[]> out) {
        Place place = new Place(message.episode(), message.seat());
        Play play = playing.get(place);
        if (play == null) {
            if (message.first() == null || ended.containsKey(place)) {
                return;
            }
            Sitting sitting = seats.get(new Place(message.first().match(), message.seat()));
            if (sitting == null) {
                return;
            }
            play = new Play(sitting, message.first());
            playing.put(place, play);
        }
        if (message.turn() <= play.turn) {
            if (message.turn() == play.turn) {
                if (play.answer != null) {
                    out.add(play.answer);
                } else if (play.asking != null) {
                    out.add(play.asking);
                }
            }
            return;
        }
        forget(play);
        play.turn = message.turn();
        play.answer = null;
        Decision decision = new Decision(
                play.seat,
                message.episode(),
                message.turn(),
                message.observation(),
                message.legal(),
                message.reward(),
                play.learn,
                play.seed,
                play.random,
                message.afterstates(),
                message.text(),
                message.scene(),
                message.clock());
        play.decision = decision;
        try {
            Agent agent = play.player.agent;
            settle(play, message.first() != null ? agent.start(decision) : agent.step(decision), out);
        } catch (Throwable error) {
            crashed(play, error, out);
        }
    }

    /** Sends an action, or a question that comes before it. */
    private void settle(Play play, Object choice, List<byte[]> out) {
        Decision decision = play.decision;
        int seat = play.seat.seat();
        if (choice instanceof Lookahead question) {
            long id = ++questions;
            byte[] frame = encode(new Outgoing.Lookahead(
                    id, decision.episode(), seat, decision.turn(), question.lines(), question.seed()));
            play.question = question;
            play.asked = id;
            play.asking = frame;
            thinking.put(id, play);
            out.add(frame);
            return;
        }
        play.answer = encode(new Outgoing.Action(decision.episode(), decision.turn(), seat, choice));
        play.decision = null;
        out.add(play.answer);
    }

    private void answered(Play play, Incoming message, List<byte[]> out) {
        if (play == null) {
            return;
        }
        Lookahead question = play.question;
        forget(play);
        try {
            Object choice;
            if (message instanceof Incoming.Reply reply) {
                if (!(reply.body() instanceof List<?> body)) {
                    throw new DovetailException("the answer to a lookahead is no list of positions");
                }
                List<Position> positions = new ArrayList<>(body.size());
                body.forEach(each -> positions.add(Position.read(each)));
                choice = question.then().apply(positions);
            } else {
                Incoming.Error error = (Incoming.Error) message;
                choice = question.otherwise().apply(new RefusedException(error.code(), error.message()));
            }
            settle(play, choice, out);
        } catch (Throwable error) {
            crashed(play, error, out);
        }
    }

    /** Drops a question under way. */
    private void forget(Play play) {
        if (play.question != null) {
            thinking.remove(play.asked);
            play.question = null;
            play.asking = null;
        }
    }

    private void crashed(Play play, Throwable error, List<byte[]> out) {
        Decision decision = play.decision;
        String text = failure(error, play.player.name + " in turn " + decision.turn());
        play.answer =
                encode(Outgoing.Error.episode("crashed", text, decision.episode(), play.seat.seat()));
        play.decision = null;
        out.add(play.answer);
    }

    private void end(Incoming.Ended message, List<byte[]> out) {
        Place place = new Place(message.episode(), message.seat());
        if (ended.put(place, true) != null) {
            return;
        }
        Play play = playing.remove(place);
        Player player;
        Seat seat;
        if (play != null) {
            forget(play);
            player = play.player;
            seat = play.seat;
        } else { // the episode ended before this seat had to decide
            Sitting sitting = seats.get(new Place(message.match(), message.seat()));
            if (sitting == null) {
                return;
            }
            player = sitting.player;
            seat = sitting.seat;
        }
        try {
            player.agent.end(new End(
                    seat,
                    message.episode(),
                    message.reward(),
                    message.observation(),
                    message.outcome(),
                    message.reason(),
                    message.blame(),
                    message.total(),
                    message.decisions(),
                    message.learn(),
                    message.text(),
                    message.scene()));
        } catch (Throwable error) {
            String text = failure(error, player.name + " at the end of an episode");
            out.add(encode(Outgoing.Error.episode("crashed", text, message.episode(), message.seat())));
        }
    }

    // -- everything else ------------------------------------------------------------------------------

    private Player find(long instance) {
        return instances.getOrDefault(instance, single);
    }

    private void init(Incoming.Init message, List<byte[]> out) {
        Player player = find(message.instance());
        if (player == null) {
            out.add(encode(Outgoing.Error.match(
                    "unknown", "there is no agent " + message.instance(), message.match(), message.seat())));
            return;
        }
        Place place = new Place(message.match(), message.seat());
        Sitting known = seats.get(place);
        if (known != null && known.player == player) {
            return;
        }
        Seat seat = new Seat(message.match(), message.seat(), message.spec(), message.lookahead());
        seats.put(place, new Sitting(player, seat));
        try {
            player.agent.init(seat);
        } catch (Throwable error) {
            String text = describe(error, player.name + " taking a seat");
            out.add(encode(Outgoing.Error.match("unavailable", text, message.match(), message.seat())));
        }
    }

    /** Who is asked for what; for a person. */
    private String where(Incoming.Request message) {
        if (message instanceof Incoming.Create create) {
            return create.agent() + " in create";
        }
        Player player = find(message.instance());
        return (player == null ? "the agent" : player.name)
                + (message instanceof Incoming.Save ? " in save"
                        : message instanceof Incoming.Load ? " in load"
                        : message instanceof Incoming.Tell ? " in message" : " in cleanup");
    }

    private Outgoing request(Incoming.Request message) {
        if (message instanceof Incoming.Create create) {
            create(create);
            return new Outgoing.Reply(create.id(), null);
        }
        if (message instanceof Incoming.Save save) {
            byte[] state = existing(save.instance()).save();
            if (state == null) {
                throw new DovetailException("this agent cannot be saved");
            }
            return new Outgoing.Saved(save.id(), state);
        }
        Object body = null;
        if (message instanceof Incoming.Load load) {
            existing(load.instance()).load(load.state());
        } else if (message instanceof Incoming.Tell tell) {
            body = existing(tell.instance()).message(tell.body());
        } else if (message instanceof Incoming.Cleanup cleanup) {
            Agent agent = existing(cleanup.instance());
            instances.remove(cleanup.instance());
            agent.cleanup();
        }
        return new Outgoing.Reply(message.id(), body);
    }

    private Agent existing(long instance) {
        Player player = find(instance);
        if (player == null) {
            throw new DovetailException("there is no agent " + instance);
        }
        return player.agent;
    }

    private void create(Incoming.Create message) {
        if (instances.containsKey(message.instance())) {
            return;
        }
        AgentType type = types.get(message.agent());
        if (type == null) {
            throw new DovetailException("this program makes no agent '" + message.agent() + "'");
        }
        Agent agent = type.factory()
                .make(type.options().read(message.parameters(), "agent " + message.agent()), message.seed());
        if (message.state() != null) {
            agent.load(message.state());
        }
        instances.put(message.instance(), new Player(agent, type.name()));
    }

    /** Every seat in an episode hears its end; then instances and seats go. */
    @Override
    void reset() {
        List<byte[]> nobody = new ArrayList<>(); // the broker knows none of these episodes
        for (Map.Entry<Place, Play> each : List.copyOf(playing.entrySet())) {
            Place place = each.getKey();
            Play play = each.getValue();
            end(new Incoming.Ended(place.of, place.seat, play.seat.match(), 0, null, null, "disconnected", null, 0, 0,
                    null, null, play.learn), nobody);
        }
        playing.clear();
        thinking.clear();
        seats.clear();
        ended.clear();
        for (Player each : instances.values()) {
            try {
                each.agent.cleanup();
            } catch (Throwable error) {
                failure(error, each.name + " in cleanup");
            }
        }
        instances.clear();
    }
}
