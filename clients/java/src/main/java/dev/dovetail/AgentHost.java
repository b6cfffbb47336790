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
import dev.dovetail.Message.Preview;
import dev.dovetail.Message.Reason;
import dev.dovetail.Message.Reply;
import dev.dovetail.Message.Role;
import dev.dovetail.Message.Save;
import dev.dovetail.Message.Saved;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.function.Supplier;

/** Holds the agents of one program: instances, their seats, and the episodes that these are in. */
final class AgentHost extends Host {
    private static final Reader<List<Preview>> PREVIEWS = Reader.list(Preview::read);

    /** A seat of a match or of an episode. */
    private record Place(long of, int seat) {}

    /** An agent and the name of its type. */
    private static final class Player {
        final Agent agent;
        final String name;
        /** How it failed at an end, until its next decision or request is answered with that; else null. */
        private Error failure;

        Player(Agent agent, String name) {
            this.agent = agent;
            this.name = name;
        }

        /** {@return how it failed at an end, once; null if it has not} */
        Error failure() {
            Error found = failure;
            failure = null;
            return found;
        }
    }

    private record Sitting(Player player, Seat seat) {}

    /** A seat's episode in progress. */
    private static final class Play {
        final Player player;
        final Seat seat;
        final Mode mode;
        final long seed;
        final SplittableRandom random;
        /** The number of the frame with its last decision. */
        long seq;

        Decision decision;

        Play(Sitting sitting, AgentStart start) {
            player = sitting.player;
            seat = sitting.seat;
            mode = start.mode();
            seed = start.seed();
            random = new SplittableRandom(seed);
        }
    }

    /** A question that a decision waits for, and its frame. */
    private record Thought(Play play, Lookahead question, byte[] frame) {}

    private final Map<String, AgentType> types = new LinkedHashMap<>();
    private final Player single;
    private final Map<Long, Player> instances = new LinkedHashMap<>();
    private final Map<Place, Sitting> seats = new HashMap<>();
    private final Map<Place, Play> playing = new LinkedHashMap<>();
    private final Map<Long, Thought> thoughts = new LinkedHashMap<>();
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
            decide(step, false, out);
        } else if (message instanceof AgentStart start) {
            Sitting sitting = seats.get(new Place(start.match(), start.seat()));
            if (sitting != null) {
                playing.put(new Place(start.episode(), start.seat()), new Play(sitting, start));
            }
            decide(start.asAgentStep(), true, out);
        } else if (message instanceof End end) {
            end(end);
        } else if (message instanceof Init init) {
            answer(init.seq(), out, () -> init(init),
                    error -> refusal(error, name(init.instance()) + " taking a seat").withAnswers(init.seq()));
        } else if (message instanceof Leave leave) {
            seats.keySet().removeIf(each -> each.of == leave.match());
        } else if (message instanceof Reply reply) {
            answered(thoughts.remove(reply.id()), reply, out);
        } else if (message instanceof Error error && error.id() != null) {
            answered(thoughts.remove(error.id()), error, out);
        } else if (message instanceof Create create) {
            reply(create.id(), create.seq(), create.agent() + " in create", out, () -> create(create));
        } else if (message instanceof Save save) {
            request(save.instance(), save.id(), save.seq(), "save", out, agent -> save(agent, save));
        } else if (message instanceof Load load) {
            request(load.instance(), load.id(), load.seq(), "load", out, agent -> load(agent, load));
        } else if (message instanceof AgentMessage tell) {
            request(tell.instance(), tell.id(), tell.seq(), "message", out,
                    agent -> Reply.of(tell.id()).withBody(agent.message(tell.body())));
        } else if (message instanceof Cleanup cleanup) {
            request(cleanup.instance(), cleanup.id(), cleanup.seq(), "cleanup", out, agent -> cleanup(agent, cleanup));
        }
    }

    @Override
    void resume(List<byte[]> out) {
        thoughts.values().forEach(each -> out.add(each.frame));
    }

    // -- decisions ------------------------------------------------------------------------------------

    private void decide(AgentStep step, boolean first, List<byte[]> out) {
        Play play = playing.get(new Place(step.episode(), step.seat()));
        if (play == null) {
            refuse(step.seq(), Code.UNKNOWN,
                    "no agent here holds seat " + step.seat() + " of episode " + step.episode(), out);
            return;
        }
        forget(play);
        inbox.forget(play.seq);
        play.seq = step.seq();
        play.decision = new Decision(play.seat, play.mode, play.seed, play.random, step);
        Error failure = play.player.failure();
        if (failure != null) {
            inbox.answer(step.seq(), encode(failure.withAnswers(step.seq())), out);
            return;
        }
        Agent agent = play.player.agent;
        act(play, out, () -> first ? agent.start(play.decision) : agent.step(play.decision));
    }

    /** Sends what an agent chooses: an action, or a question that comes before it. */
    private void act(Play play, List<byte[]> out, Supplier<Object> choose) {
        long episode = play.decision.episode();
        long turn = play.decision.turn();
        int seat = play.seat.seat();
        answer(play.seq, out, () -> {
            Object choice = choose.get();
            if (!(choice instanceof Lookahead question)) {
                Considered said = choice instanceof Considered found ? found : new Considered(choice, null);
                Action action = Action.of(episode, turn, seat).withMeasures(said.measures());
                action = said.action() instanceof Resign ? action.withResign(true) : action.withAction(said.action());
                return play.decision.think() ? action.withThoughts(said.thoughts()) : action;
            }
            long id = ++questions;
            byte[] frame =
                    encode(AgentLookahead.of(id, episode, seat, turn, question.lines()).withSeed(question.seed()));
            thoughts.put(id, new Thought(play, question, frame));
            out.add(frame);
            return null;
        }, error -> crash(error, play.player.name + " in turn " + turn).withAnswers(play.seq));
    }

    private void answered(Thought thought, Message message, List<byte[]> out) {
        if (thought != null) {
            act(thought.play, out, () -> message instanceof Reply reply
                    ? thought.question.then().apply(PREVIEWS.read(reply.body()))
                    : thought.question.otherwise().apply(RefusedException.of((Error) message)));
        }
    }

    /** Drops a question under way. */
    private void forget(Play play) {
        thoughts.values().removeIf(each -> each.play == play);
    }

    private void end(End end) {
        Play play = playing.remove(new Place(end.episode(), end.seat()));
        Sitting sitting = seats.get(new Place(end.match(), end.seat()));
        if (play != null) {
            forget(play);
        } else if (sitting == null) {
            return;
        }
        Player player = play != null ? play.player : sitting.player; // a seat may never have had to decide
        try {
            player.agent.end(play != null ? end.withMatch(play.seat.match()) : end);
        } catch (Throwable error) {
            Error failure = crash(error, player.name + " at the end of an episode");
            if (player.failure == null) {
                player.failure = failure;
            }
        }
    }

    // -- seats and instances --------------------------------------------------------------------------

    private Message init(Init init) {
        Place place = new Place(init.match(), init.seat());
        seats.remove(place);
        Player player = find(init.instance());
        if (player == null) {
            return Error.of(Code.UNKNOWN.toWire(), "there is no agent " + init.instance()).withAnswers(init.seq());
        }
        Seat seat = new Seat(init.match(), init.seat(), init.spec(), init.lookahead());
        player.agent.init(seat);
        seats.put(place, new Sitting(player, seat));
        return null;
    }

    private Player find(long instance) {
        return instances.getOrDefault(instance, single);
    }

    /** Names the agent in errors. */
    private String name(long instance) {
        Player player = find(instance);
        return player == null ? "the agent" : player.name;
    }

    /** Answers a request to an instance. */
    private void request(long instance, long id, long seq, String verb, List<byte[]> out,
            Function<Agent, Message> work) {
        reply(id, seq, name(instance) + " in " + verb, out, () -> {
            Player player = find(instance);
            if (player == null) {
                throw new DovetailException("there is no agent " + instance);
            }
            Error failure = player.failure();
            if (failure == null) {
                return work.apply(player.agent);
            }
            if (verb.equals("cleanup")) {
                work.apply(player.agent);
            }
            return failure.withId(id);
        });
    }

    private Message create(Create create) {
        AgentType type = types.get(create.agent());
        if (type == null) {
            throw new DovetailException("this program makes no agent '" + create.agent() + "'");
        }
        Player player = new Player(
                type.factory().make(type.options().read(create.parameters(), "agent " + create.agent()), create.seed()),
                type.name());
        if (create.state() != null) {
            try {
                player.agent.load(create.state());
            } catch (Throwable error) {
                cleanup(player); // no instance leads to it
                throw error;
            }
        }
        instances.put(create.instance(), player);
        return Reply.of(create.id());
    }

    private static Message save(Agent agent, Save save) {
        byte[] state = agent.save();
        if (state == null) {
            throw new DovetailException("this agent cannot be saved");
        }
        return Saved.of(save.id(), state);
    }

    private static Message load(Agent agent, Load load) {
        agent.load(load.state());
        return Reply.of(load.id());
    }

    private Message cleanup(Agent agent, Cleanup cleanup) {
        instances.remove(cleanup.instance());
        agent.cleanup();
        return Reply.of(cleanup.id());
    }

    @Override
    void leave() {
        reset();
        if (single != null) {
            cleanup(single);
        }
    }

    private static void cleanup(Player player) {
        try {
            player.agent.cleanup();
        } catch (Throwable error) {
            crash(error, player.name + " in cleanup");
        }
    }

    /** Every seat in an episode hears its end; then instances and seats go. */
    @Override
    void reset() {
        for (Map.Entry<Place, Play> each : List.copyOf(playing.entrySet())) {
            Play play = each.getValue();
            end(End.of(each.getKey().of, play.seat.seat())
                    .withMatch(play.seat.match())
                    .withReason(Reason.DISCONNECTED)
                    .withMode(play.mode));
        }
        seats.clear();
        instances.values().forEach(AgentHost::cleanup);
        instances.clear();
        if (single != null) {
            single.failure = null;
        }
    }
}
