package dev.dovetail;

import com.sun.jna.Native;
import com.sun.jna.Platform;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Keeps the thread that talks to the broker to the core that the broker keeps to, as long as that is so (decision 37).
 *
 * <p>Where one program at a time has work, as in a single match, most of a turn goes into waking programs on other
 * cores. Only on Linux, and only if the broker runs on this machine; it tells which program it is.
 */
final class Cores {
    /** Bytes of a set of cores, as the system takes it. */
    private static final int SIZE = 128;
    /** Nanoseconds between two looks for threads and programs that were started meanwhile. */
    private static final long PAUSE = 100_000_000;
    private static final boolean POSSIBLE = bound();

    private final byte[] bytes = new byte[SIZE];
    /** The core that the thread is confined to; null if it is not. */
    private BitSet core;
    /** The cores that it may use otherwise. */
    private BitSet before;
    private int thread;
    /** The threads that were there when it was confined. */
    private Set<Integer> others;
    private long due;

    private static native int sched_getaffinity(int thread, long size, byte[] cores);

    private static native int sched_setaffinity(int thread, long size, byte[] cores);

    private static boolean bound() {
        try {
            if (Platform.isLinux() && Platform.is64Bit()) {
                Native.register("c");
                return true;
            }
        } catch (LinkageError error) {
            // JNA has no library for this system; it works, if more slowly
        }
        return false;
    }

    /** Sees where the broker is that has just sent something; 0 stands for one on another machine. */
    void received(long broker) {
        if (!POSSIBLE) {
            return;
        }
        BitSet there = broker == 0 ? new BitSet() : of((int) broker);
        BitSet wanted = there.cardinality() == 1 ? there : null;
        long now = System.nanoTime();
        if (core != null && !core.equals(wanted)) {
            leave();
        }
        if (core == null && wanted != null) {
            take(wanted);
            due = now + PAUSE;
        } else if (core != null && now - due >= 0) {
            due = now + PAUSE;
            thaw();
        }
    }

    private void take(BitSet wanted) {
        before = of(0);
        if (before.cardinality() < 2 || !before.intersects(wanted)) {
            return;
        }
        try {
            thread = Integer.parseInt(Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString());
        } catch (IOException | NumberFormatException error) {
            return; // another /proc than Linux's
        }
        others = threads(Path.of("/proc/self/task"));
        core = wanted;
        set(thread, core);
    }

    /** Lets the thread, and what it has started, use the cores of before, unless they were given others meanwhile. */
    void leave() {
        if (core != null) {
            thaw();
            free(thread);
            core = null;
        }
    }

    /** Lets threads and programs that this thread has started meanwhile use the cores of before. */
    private void thaw() {
        for (int each : threads(Path.of("/proc/self/task"))) {
            if (!others.contains(each)) {
                free(each);
            }
        }
        try {
            String programs = Files.readString(Path.of("/proc/self/task/" + thread + "/children")).strip();
            for (String program : programs.isEmpty() ? new String[0] : programs.split(" ")) {
                threads(Path.of("/proc/" + program + "/task")).forEach(this::free);
            }
        } catch (IOException error) {
            // this system does not list them
        }
    }

    private void free(int each) {
        if (of(each).equals(core)) {
            set(each, before);
        }
    }

    private static Set<Integer> threads(Path folder) {
        Set<Integer> found = new HashSet<>();
        try (Stream<Path> all = Files.list(folder)) {
            all.forEach(each -> found.add(Integer.valueOf(each.getFileName().toString())));
        } catch (IOException error) {
            // the program has ended
        }
        return found;
    }

    /** {@return the cores that a thread may use; none if there is no such thread} */
    private BitSet of(int each) {
        return sched_getaffinity(each, SIZE, bytes) < 0 ? new BitSet() : BitSet.valueOf(bytes);
    }

    private void set(int each, BitSet cores) {
        byte[] given = Arrays.copyOf(cores.toByteArray(), SIZE);
        sched_setaffinity(each, SIZE, given);
    }
}
