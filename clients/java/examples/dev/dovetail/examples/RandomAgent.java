package dev.dovetail.examples;

import dev.dovetail.*;

/** Plays a random legal action, in any game. */
public class RandomAgent implements Agent {
    @Override
    public Object step(Decision decision) {
        return decision.sample();
    }

    public static void main(String[] arguments) {
        Dovetail.main(AgentType.of("random-java", RandomAgent::new).playing(0));
    }
}
