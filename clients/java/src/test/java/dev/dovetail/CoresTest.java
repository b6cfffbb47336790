package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** A thread follows a program that is confined to one core, and what it starts does not stay there. */
class CoresTest {
    private static String cores(String task) throws Exception {
        return Files.readAllLines(Path.of("/proc", task, "status")).stream()
                .filter(line -> line.startsWith("Cpus_allowed_list:")).findFirst().orElseThrow().split("\\s+")[1];
    }

    private static String mine() throws Exception {
        return cores("thread-self");
    }

    @Test
    void aThreadKeepsToTheCoreOfAProgramAsLongAsThatDoes() throws Exception {
        assumeTrue(Files.exists(Path.of("/proc/thread-self/status")), "this system is not Linux");
        String before = mine();
        assumeTrue(before.matches(".*[-,].*"), "there is one core");
        String first = before.split("[-,]")[0];
        Process broker = new ProcessBuilder("taskset", "-c", first, "cat").start();
        Process child = null;
        Cores cores = new Cores();
        CountDownLatch end = new CountDownLatch(1);
        try {
            broker.getOutputStream().write("up\n".getBytes());
            broker.getOutputStream().flush();
            broker.getInputStream().read(); // it is `cat` by now, confined
            cores.received(0);
            assertEquals(before, mine());
            cores.received(broker.pid());
            assertEquals(first, mine());

            AtomicReference<String> task = new AtomicReference<>();
            CountDownLatch started = new CountDownLatch(1);
            Thread thread = new Thread(() -> {
                try {
                    task.set(Files.readSymbolicLink(Path.of("/proc/thread-self")).toString());
                    started.countDown();
                    end.await();
                } catch (Exception error) {
                    started.countDown();
                }
            });
            thread.start();
            started.await();
            child = new ProcessBuilder("cat").start();
            assertNotEquals(before, cores(task.get()));

            cores.received(0);
            assertEquals(before, mine());
            assertEquals(before, cores(task.get()));
            assertEquals(before, cores(String.valueOf(child.pid())));
        } finally {
            cores.leave();
            end.countDown();
            broker.destroy();
            if (child != null) {
                child.destroy();
            }
        }
    }
}
