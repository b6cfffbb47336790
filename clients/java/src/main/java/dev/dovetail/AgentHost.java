package dev.dovetail;

import dev.dovetail.Message.Action;
import dev.dovetail.Message.AgentLookahead;
import dev.dovetail.Message.AgentMessage;
import dev.dovetail.Message.AgentStart;
import dev.dovetail.Message.AgentStep;
import dev.dovetail.Message.Cleanup;
import dev.dovetail.Message.Code;
import dev.dovetail.Message.Create;
import dev.dovetail.Message.End;
import dev.dovetail.Message.Error;
import dev.dovetail.Message.Init;
import dev.dovetail.Message.Leave;
import dev.dovetail.Message.Load;
import dev.dovetail.Message.Mode;
import dev.dovetail.Message.Offer;
import dev.dovetail.Message.Position;
import dev.dovetail.Message.Reason;
import dev.dovetail.Message.Reply;
import dev.dovetail.Message.Role;
import dev.dovetail.Message.Save;
import dev.dovetail.Message.Saved;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Holds the agents of one program: instances, their seats, and the episodes that these are in. */
final class AgentHost extends Host {
    /** Ended episodes that are remembered, so that a repeated decision is not taken for a new one. */
    private static final int ENDED_KEPT = 4096;

    private static final Reader<List<Position>> POSITIONS = Reader.list(Position::read);

    /** A seat of a match or of an episode. */
    private record Place(long of, int seat) {}

    /** An agent and the name of its type. */
    private record Player(Agent agent, String name) {}

    private record Sitting(Player player, Seat seat) {}

    /** A seat's episode in progress. */
    private static final class Play {
        final Player player;
        final Seat seat;
        final Mode mode;
        final long seed;
        final SplittableRandom random;
        long turn = -1;
        /** The frame that answers this turn, or asks before that; null as long as there is neither. */
        byte[] answer;

        Decision decision;
        /** The question that the decision waits for; null if it waits for none. */
        Lookahead question;
        long asked;

        Play(Sitting sitting, AgentStart start) {
            player = sitting.player;
            seat = sitting.seat;
            mode = start.mode();
            seed = start.seed();
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
        return single != null
                ? List.of(Offer.of(single.name).withInstance(true))
                : types.values().stream().map(AgentType::offer).toList();
    }

    @Override
    void take(Message message, List<byte[]> out) {
        if (message instanceof AgentStep step) {
            decide(playing.get(new Place(step.episode(), step.seat())), step, false, out);
        } else if (message instanceof AgentStart start) {
            decide(begin(start), first(start), true, out);
        } else if (message instanceof End end) {
            end(end, out);
        } else if (message instanceof Init init) {
            init(init, out);
        } else if (message instanceof Leave leave) {
            seats.keySet().removeIf(each -> each.of == leave.match());
        } else if (message instanceof Reply reply) {
            answered(thinking.remove(reply.id()), reply, out);
        } else if (message instanceof Error error && error.id() != null) {
            answered(thinking.remove(error.id()), error, out);
        } else if (message instanceof Create create) {
            answer(create.id(), create.agent() + " in create", out, () -> create(create));
        } else if (message instanceof Save save) {
            answer(save.id(), name(save.instance()) + " in save", out, () -> save(save));
        } else if (message instanceof Load load) {
            answer(load.id(), name(load.instance()) + " in load", out, () -> load(load));
        } else if (message instanceof AgentMessage tell) {
            answer(tell.id(), name(tell.instance()) + " in message", out,
                    () -> Reply.of(tell.id()).withBody(existing(tell.instance()).message(tell.body())));
        } else if (message instanceof Cleanup cleanup) {
            answer(cleanup.id(), name(cleanup.instance()) + " in cleanup", out, () -> cleanup(cleanup));
        }
    }

    // -- decisions ------------------------------------------------------------------------------------

    /** The episode that a start is about; null if it is over, or the seat is not taken. */
    private Play begin(AgentStart start) {
        Place place = new Place(start.episode(), start.seat());
        Sitting sitting = seats.get(new Place(start.match(), start.seat()));
        if (!playing.containsKey(place) && !ended.containsKey(place) && sitting != null) {
            playing.put(place, new Play(sitting, start));
        }
        return playing.get(place);
    }

    /** The part of a start that later decisions have, too. */
    private static AgentStep first(AgentStart start) {
        return AgentStep.of(start.episode(), start.seat(), start.turn())
                .withReward(start.reward())
                .withObservation(start.observation())
                .withLegal(start.legal())
                .withAfterstates(start.afterstates())
                .withText(start.text())
                .withScene(start.scene())
                .withClock(start.clock());
    }

    private void decide(Play play, AgentStep step, boolean first, List<byte[]> out) {
        if (play == null || step.turn() < play.turn) {
            return;
        }
        if (step.turn() == play.turn) {
            out.add(play.answer);
            return;
        }
        forget(play);
        play.turn = step.turn();
        play.decision = new Decision(play.seat, play.mode, play.seed, play.random, step);
        try {
            Agent agent = play.player.agent;
            settle(play, first ? agent.start(play.decision) : agent.step(play.decision), out);
        } catch (Throwable error) {
            crashed(play, error, out);
        }
    }

    /** Sends an action, or a question that comes before it. */
    private void settle(Play play, Object choice, List<byte[]> out) {
        long episode = play.decision.episode();
        int seat = play.seat.seat();
        if (choice instanceof Lookahead question) {
            long id = ++questions;
            play.answer = encode(
                    AgentLookahead.of(id, episode, seat, play.turn, question.lines()).withSeed(question.seed()));
            play.question = question;
            play.asked = id;
            thinking.put(id, play);
        } else {
            play.answer = encode(Action.of(episode, play.turn, seat).withAction(choice));
            play.decision = null;
        }
        out.add(play.answer);
    }

    private void answered(Play play, Message message, List<byte[]> out) {
        if (play == null) {
            return;
        }
        Lookahead question = play.question;
        forget(play);
        try {
            Object choice = message instanceof Reply reply
                    ? question.then().apply(POSITIONS.read(reply.body()))
                    : question.otherwise().apply(RefusedException.of((Error) message));
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
        }
    }

    private void crashed(Play play, Throwable error, List<byte[]> out) {
        String text = failure(error, play.player.name + " in turn " + play.turn);
        play.answer = encode(error(Code.CRASHED, text)
                .withEpisode(play.decision.episode())
                .withSeat(play.seat.seat()));
        play.decision = null;
        out.add(play.answer);
    }

    private void end(End end, List<byte[]> out) {
        Place place = new Place(end.episode(), end.seat());
        if (ended.put(place, true) != null) {
            return;
        }
        Play play = playing.remove(place);
        Player player;
        if (play != null) {
            forget(play);
            player = play.player;
            end = end.withMatch(play.seat.match());
        } else { // the episode ended before this seat had to decide
            Sitting sitting = seats.get(new Place(end.match(), end.seat()));
            if (sitting == null) {
                return;
            }
            player = sitting.player;
        }
        try {
            player.agent.end(end);
        } catch (Throwable error) {
            String text = failure(error, player.name + " at the end of an episode");
            out.add(encode(error(Code.CRASHED, text).withEpisode(end.episode()).withSeat(end.seat())));
        }
    }

    // -- seats and instances --------------------------------------------------------------------------

    private void init(Init init, List<byte[]> out) {
        Player player = find(init.instance());
        if (player == null) {
            out.add(encode(error(Code.UNKNOWN, "there is no agent " + init.instance())
                    .withMatch(init.match())
                    .withSeat(init.seat())));
            return;
        }
        Place place = new Place(init.match(), init.seat());
        Sitting known = seats.get(place);
        if (known != null && known.player == player) {
            return;
        }
        Seat seat = new Seat(init.match(), init.seat(), init.spec(), init.lookahead());
        seats.put(place, new Sitting(player, seat));
        try {
            player.agent.init(seat);
        } catch (Throwable error) {
            String text = describe(error, player.name + " taking a seat");
            out.add(encode(error(Code.UNAVAILABLE, text).withMatch(init.match()).withSeat(init.seat())));
        }
    }

    private Player find(long instance) {
        return instances.getOrDefault(instance, single);
    }

    /** Whose agent it is, for a person. */
    private String name(long instance) {
        Player player = find(instance);
        return player == null ? "the agent" : player.name;
    }

    private Agent existing(long instance) {
        Player player = find(instance);
        if (player == null) {
            throw new DovetailException("there is no agent " + instance);
        }
        return player.agent;
    }

    private Message create(Create create) {
        if (!instances.containsKey(create.instance())) {
            AgentType type = types.get(create.agent());
            if (type == null) {
                throw new DovetailException("this program makes no agent '" + create.agent() + "'");
            }
            Agent agent = type.factory()
                    .make(type.options().read(create.parameters(), "agent " + create.agent()), create.seed());
            if (create.state() != null) {
                agent.load(create.state());
            }
            instances.put(create.instance(), new Player(agent, type.name()));
        }
        return Reply.of(create.id());
    }

    private Message save(Save save) {
        byte[] state = existing(save.instance()).save();
        if (state == null) {
            throw new DovetailException("this agent cannot be saved");
        }
        return Saved.of(save.id(), state);
    }

    private Message load(Load load) {
        existing(load.instance()).load(load.state());
        return Reply.of(load.id());
    }

    private Message cleanup(Cleanup cleanup) {
        Agent agent = existing(cleanup.instance());
        instances.remove(cleanup.instance());
        agent.cleanup();
        return Reply.of(cleanup.id());
    }

    /** Every seat in an episode hears its end; then instances and seats go. */
    @Override
    void reset() {
        List<byte[]> unsent = new ArrayList<>(); // the broker knows none of these episodes
        for (Map.Entry<Place, Play> each : List.copyOf(playing.entrySet())) {
            Place place = each.getKey();
            end(End.of(place.of, place.seat)
                    .withReason(Reason.DISCONNECTED)
                    .withMode(each.getValue().mode), unsent);
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
