package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.dovetail.Message.DoneReason;
import dev.dovetail.Message.End;
import dev.dovetail.Message.Episode;
import dev.dovetail.Message.Mode;
import dev.dovetail.Message.Reason;
import dev.dovetail.Message.Want;
import dev.dovetail.Message.WatchedTurn;
import dev.dovetail.examples.Reading;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The programs of programs.json against a real broker; the variable DOVETAIL names the command. */
@Timeout(120)
class EndToEndTest {
    private static final int PATIENCE = 60;

    private final List<Process> programs = new ArrayList<>();
    private Process broker;
    private String address;

    private static String dovetail() {
        String command = System.getenv("DOVETAIL");
        if (command != null && !command.isEmpty()) {
            return Files.isExecutable(Path.of(command)) ? command : null;
        }
        for (String each : System.getenv("PATH").split(File.pathSeparator)) {
            if (Files.isExecutable(Path.of(each, "dovetail"))) {
                return "dovetail";
            }
        }
        return null;
    }

    private void startBroker(String... more) throws IOException {
        startBrokerAt("tcp://127.0.0.1:*", more);
    }

    private void startBrokerAt(String bind, String... more) throws IOException {
        String command = dovetail();
        assumeTrue(command != null, "skipped: no dovetail command; name one in the variable DOVETAIL");
        List<String> line = new ArrayList<>(
                List.of(command, "broker", "--bind", bind, "--journal", "none"));
        line.addAll(List.of(more));
        broker = new ProcessBuilder(line).redirectErrorStream(true).start();
        BufferedReader lines = broker.inputReader();
        Matcher found = Pattern.compile("tcp://127\\.0\\.0\\.1:\\d+|ipc://[\\w/.-]+").matcher("");
        for (String told = lines.readLine(); told != null && address == null; ) {
            if (found.reset(told).find()) {
                address = found.group();
            } else {
                told = lines.readLine();
            }
        }
        assertTrue(address != null, "the broker does not say where it is");
    }

    @AfterEach
    void stop() throws InterruptedException {
        for (Process each : programs) {
            each.destroy();
            assertTrue(each.waitFor(PATIENCE, TimeUnit.SECONDS), "a program does not stop");
        }
        if (broker != null) {
            broker.destroy();
            broker.waitFor(PATIENCE, TimeUnit.SECONDS);
        }
    }

    @SuppressWarnings("unchecked")
    private Process start(String program, String... more) throws IOException {
        List<String> command = new ArrayList<>(
                ((Map<String, List<String>>) Reading.json(Files.readString(Path.of("programs.json")))).get(program));
        command.addAll(List.of(more));
        return start(command);
    }

    private Process start(List<String> command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        builder.environment().put("DOVETAIL_BROKER", address);
        Process process = builder.start();
        programs.add(process);
        return process;
    }

    private Experiment experiment() {
        return Experiment.connect(Broker.at(address));
    }

    @Test
    void episodesArePlayedWithOwnAgentAndEnvironment() throws Exception {
        startBroker();
        Process environment = start("bench", "environment");
        start("random");
        try (Experiment experiment = experiment()) {
            experiment.expect(List.of("bench"), List.of("random-java"), PATIENCE);
            long agent = experiment.create("random-java");
            long other = experiment.create("random-java");
            RunHandle run = experiment.run("bench", List.of(agent, other), options -> options
                    .withConfiguration(Map.of("turns", 20L))
                    .withEpisodes(12)
                    .withConcurrency(4)
                    .withSeed(5)
                    .withCheck(true));
            List<Episode> results = run.await();
            assertEquals(12, results.size());
            for (Episode each : results) {
                assertEquals(Reason.TERMINATED, each.reason());
                assertEquals(20, each.turns());
                assertArrayEquals(new double[] {0.5, 0.5}, each.outcome());
            }
            assertEquals(DoneReason.FINISHED, run.done().reason());
            RunHandle left;
            try (RunHandle begun = experiment.run("bench", List.of(agent, other), options -> options
                    .withConfiguration(Map.of("turns", 20L))
                    .withEpisodes(1_000_000L))) {
                left = begun;
                assertTrue(begun.iterator().hasNext());
            }
            assertEquals(DoneReason.CANCELLED, left.done().reason());
            run.close(); // which is over
        }
        environment.destroy();
        assertTrue(environment.waitFor(PATIENCE, TimeUnit.SECONDS));
        assertEquals(0, environment.exitValue(), "a program that is told to stop ends well");
    }

    @Test
    void aFileConnectsProgramsOfOneMachine() throws Exception {
        Path folder = Files.createTempDirectory("dovetail");
        startBrokerAt("ipc://" + folder.resolve("broker"));
        start("bench", "environment");
        start("random");
        try (Experiment experiment = experiment()) {
            experiment.expect(List.of("bench"), List.of("random-java"), PATIENCE);
            List<Long> agents = List.of(experiment.create("random-java"), experiment.create("random-java"));
            assertEquals(4, experiment.run("bench", agents, options -> options
                    .withConfiguration(Map.of("turns", 20L))
                    .withEpisodes(4)).await().size());
        }
    }

    @Test
    void anExperimentControlsItsRun() throws Exception {
        startBroker();
        start("bench", "environment");
        start("bench", "agent");
        try (Experiment experiment = experiment(); Experiment observer = Experiment.observe(Broker.at(address))) {
            List<Message> seen = new ArrayList<>();
            observer.listen(seen::add);
            observer.watch(null, true);
            experiment.expect(List.of("bench"), List.of("bench"), PATIENCE);
            long agent = experiment.create("bench", create -> create.withSeed(1));
            RunHandle steps = experiment.run("bench", List.of(agent, agent), options -> options
                    .withConfiguration(Map.of("turns", 3L))
                    .withStepwise(true));
            long before = System.nanoTime();
            assertNull(steps.poll(1));
            assertTrue(System.nanoTime() - before >= 1e9, "nothing comes, and that takes its time");
            assertArrayEquals(new int[] {0}, steps.start().toAct());
            assertEquals(1, steps.step().turn());
            assertEquals(2, steps.step().turn());
            assertTrue(steps.step().terminated());
            assertEquals(1, steps.await().size());

            RunHandle run = experiment.run("bench", List.of(agent, agent), options -> options
                    .withConfiguration(Map.of("turns", 50L))
                    .withEpisodes(100_000)
                    .withConcurrency(2));
            assertEquals(Reason.TERMINATED, run.iterator().next().reason());
            run.pause();
            run.resume();
            run.cancel();
            run.await();
            assertEquals(DoneReason.CANCELLED, run.done().reason());

            RefusedException refused = assertThrows(RefusedException.class,
                    () -> experiment.run("nothing", List.of(agent), options -> options));
            assertEquals("unknown", refused.code());
            experiment.cleanup(agent);
            while (seen.stream().noneMatch(each -> each instanceof WatchedTurn)) {
                observer.poll(0.1);
            }
        }
    }

    @Test
    void theLearnerLearnsAcrossTheBroker() throws Exception {
        startBroker();
        start("player");
        start("random");
        start(List.of(dovetail(), "env", "connect_four", "--connect", address));
        try (Experiment experiment = experiment()) {
            experiment.expect(List.of("connect_four"), List.of("td-java", "random-java"), PATIENCE);
            long one = experiment.create("td-java");
            long other = experiment.create("td-java");
            play(experiment, one, one, 0, 20);
            play(experiment, other, other, 0, 20);
            byte[] whole = experiment.save(one);
            assertArrayEquals(whole, experiment.save(other), "equal seeds make equal learners");

            long half = experiment.create("td-java");
            play(experiment, half, half, 0, 10);
            long rest = experiment.create("td-java", create -> create.withState(experiment.save(half)));
            play(experiment, rest, rest, 10, 10);
            assertArrayEquals(whole, experiment.save(rest), "a saved learner continues bit for bit");

            play(experiment, one, one, 20, 130);
            byte[] learnt = experiment.save(one);
            long untrained = experiment.create("td-java");
            double score = 0;
            for (Episode each : experiment.run("connect_four", List.of(one, untrained), options -> options
                    .withEpisodes(40)
                    .withSeed(99)
                    .withRotate(true)
                    .withMode(Mode.EVALUATE))) {
                int seat = each.seats().get(0).instance() == one ? 0 : 1;
                score += each.outcome()[seat] / 40;
            }
            assertTrue(score > 0.7, "won " + score + " of the games");
            assertArrayEquals(learnt, experiment.save(one), "evaluation changes nothing");
            assertFalse(((Map<?, ?>) experiment.message(one, null)).isEmpty());
        }
    }

    /** Takes what leads to a won game, if the environment says that something does. */
    private static final class Asking implements Agent {
        private String text;
        private long asked;

        @Override
        public Object step(Decision decision) {
            text = decision.text();
            asked++;
            int seat = decision.seat().seat();
            return Lookahead.after(decision.legal(), positions -> {
                for (int i = 0; i < decision.legal().length; i++) {
                    if (positions.get(i).rewards()[seat] > 0) {
                        return decision.legal()[i];
                    }
                }
                return decision.legal()[0];
            });
        }

        @Override
        public Object message(Object body) {
            return List.of(body, text, asked);
        }

        @Override
        public byte[] save() {
            return new byte[] {(byte) asked};
        }

        @Override
        public void load(byte[] state) {
            asked = state[0];
        }
    }

    @Test
    void agentsAskWhatWouldFollow() throws Exception {
        startBroker();
        Thread rules = new Thread(() -> Dovetail.serve(Broker.at(address), Nim.type()));
        AgentType asking = AgentType.of("asking", Asking::new).wanting(Want.TEXT);
        Thread agents = new Thread(() -> Dovetail.serve(Broker.at(address), asking));
        rules.start();
        agents.start();
        try (Experiment experiment = experiment()) {
            experiment.expect(List.of("nim"), List.of("asking"), PATIENCE);
            long agent = experiment.create("asking");
            // Of two the first seat takes both, of four it takes one and the second loses in any case.
            for (long heap : new long[] {2, 4}) {
                RunHandle run = experiment.run("nim", List.of(agent, agent), options -> options
                        .withConfiguration(Map.of("heap", heap))
                        .withLookahead(true)
                        .withCheck(true));
                assertArrayEquals(new double[] {1, 0}, run.await().get(0).outcome());
            }
            assertEquals(List.of("hello", "2 left", 4L), experiment.message(agent, "hello"));
            assertArrayEquals(new byte[] {4}, experiment.save(agent, save -> save.withStateName("kept")));
            experiment.load(agent, new byte[] {9});
            assertArrayEquals(new byte[] {9}, experiment.save(agent));
            experiment.load(agent, load -> load.withStateName("kept"));
            assertArrayEquals(new byte[] {4}, experiment.save(agent));
            assertThrows(RefusedException.class, () -> experiment.load(agent, new byte[0]));
        }
        broker.destroy();
        rules.join(PATIENCE * 1000L);
        agents.join(PATIENCE * 1000L);
        assertFalse(rules.isAlive() || agents.isAlive(), "programs end when the broker leaves");
    }

    /** Takes longer over the end of an episode than the broker waits for a sign of life. */
    private static final class Slow implements Agent {
        private int ends;

        @Override
        public Object step(Decision decision) {
            return decision.legal()[0];
        }

        @Override
        public void end(End end) {
            try {
                Thread.sleep(ends++ == 0 ? 5000 : 0);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    @Test
    void anAgentThatThinksLongIsNotLost() throws Exception {
        startBroker("--heartbeat", "0.2", "--peer-timeout", "2", "--grace", "0.5");
        start("bench", "environment");
        Thread agents = new Thread(() -> Dovetail.serve(Broker.at(address), AgentType.of("slow", Slow::new)));
        agents.setDaemon(true);
        agents.start();
        try (Experiment experiment = experiment()) {
            experiment.expect(List.of("bench"), List.of("slow"), PATIENCE);
            long agent = experiment.create("slow");
            List<Episode> results = experiment.run("bench", List.of(agent, agent), options -> options
                    .withConfiguration(Map.of("turns", 2L))
                    .withEpisodes(2)).await();
            assertEquals(List.of(Reason.TERMINATED, Reason.TERMINATED), results.stream().map(Episode::reason).toList());
            Thread.sleep(3000); // an experiment may be busy elsewhere, too
            experiment.cleanup(agent);
        }
    }

    @Test
    void anExperimentGivesUpASilentBroker() throws Exception {
        startBroker("--heartbeat", "0.2");
        try (Experiment experiment = Experiment.connect(Broker.at(address), 3)) {
            experiment.catalogue();
            signal("STOP");
            DovetailException error = assertThrows(DovetailException.class, experiment::catalogue);
            assertEquals("the broker at " + address + " has been silent for 3 s; see whether it still runs",
                    error.getMessage());
        } finally {
            signal("CONT");
        }
    }

    private void signal(String name) throws Exception {
        new ProcessBuilder("kill", "-" + name, Long.toString(broker.pid())).start().waitFor();
    }

    @Test
    void anExperimentAbandonsAnEpisode() throws Exception {
        startBroker();
        start("bench", "environment");
        start("random");
        try (Experiment experiment = experiment()) {
            experiment.expect(List.of("bench"), List.of("random-java"), PATIENCE);
            long agent = experiment.create("random-java");
            RunHandle run = experiment.run("bench", List.of(agent, agent), options -> options
                    .withConfiguration(Map.of("turns", 3L)).withStepwise(true).withEpisodes(2));
            run.start();
            assertEquals(1, run.step().turn());
            assertThrows(RefusedException.class, run::start);
            assertEquals(0, run.start(true).turn());
            Episode first = run.poll(PATIENCE);
            assertEquals(Reason.TRUNCATED, first.reason());
            assertNull(first.blame());
            assertNull(first.outcome());
        }
    }

    @Test
    void anInterruptedThreadLeavesInOrder() throws Exception {
        startBroker("--grace", "600"); // who goes without a goodbye stays in the catalogue
        CompletableFuture<Boolean> flag = new CompletableFuture<>();
        Agent interrupted = new Agent() {
            @Override
            public Object step(Decision decision) {
                return decision.sample();
            }

            @Override
            public Object message(Object body) {
                Thread.currentThread().interrupt();
                return null;
            }
        };
        Thread agents = new Thread(() -> {
            assertThrows(DovetailException.class, () -> Dovetail.serve(Broker.at(address), "me", interrupted));
            flag.complete(Thread.interrupted());
        });
        agents.start();
        try (Experiment experiment = experiment()) {
            experiment.expect(List.of(), List.of("me"), PATIENCE);
            Map<?, ?> me = (Map<?, ?>) ((List<?>) experiment.catalogue().get("instances")).get(0);
            assertThrows(RefusedException.class, () -> experiment.message((Long) me.get("instance"), null));
            assertTrue(flag.get(PATIENCE, TimeUnit.SECONDS), "the flag is still set");
            while (((List<?>) experiment.catalogue().get("peers")).size() > 1) {
                experiment.poll(0.1);
            }
            Thread.currentThread().interrupt();
            assertThrows(DovetailException.class, () -> experiment.poll(PATIENCE));
            assertTrue(Thread.interrupted());
        }
    }

    private static void play(Experiment experiment, long first, long second, long from, long count) {
        experiment.run("connect_four", List.of(first, second), options -> options
                .withEpisodes(count)
                .withFirstIndex(from)
                .withSeed(7)).await();
    }
}
