import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * A program that knows nothing of memoryd. It holds arrays in every way that the tests look at, and answers "check" with one line: "right" and
 * how many checks it has passed, or what is wrong. Two threads change arrays all the time.
 */
public class Held {
    /** An array with the sum of its bytes. */
    static class Entry {
        private byte[] bytes;
        final int sum;

        Entry(byte[] bytes) {
            this.bytes = bytes;
            this.sum = Arrays.hashCode(bytes);
        }

        boolean isRight() {
            return bytes != null && Arrays.hashCode(bytes) == sum;
        }
    }

    /** Each primitive type; the last field shares an array, and one is typed as any object. */
    static class Kinds {
        boolean[] booleans = new boolean[4096];
        char[] chars = new char[4096];
        short[] shorts = new short[4096];
        int[] ints = new int[4096];
        long[] longs = new long[4096];
        float[] floats = new float[4096];
        double[] doubles = new double[4096];
        final Object any = new byte[4096];
        int[] shared = ints;

        Kinds() {
            booleans[1] = true;
            chars[2] = 'x';
            shorts[3] = -3;
            ints[4] = 4;
            longs[5] = Long.MIN_VALUE;
            floats[6] = 0.5f;
            doubles[7] = -0.25;
            ((byte[]) any)[8] = 8;
        }

        boolean isRight() {
            ints[100]++;
            return booleans[1] && chars[2] == 'x' && shorts[3] == -3 && ints[4] == 4 && longs[5] == Long.MIN_VALUE && floats[6] == 0.5f
                    && doubles[7] == -0.25 && ((byte[]) any)[8] == 8 && shared == ints && shared[100] == ints[100] && doubles.length == 4096;
        }
    }

    /** A key whose array only a weak reference of the JDK holds beside a field. */
    static class Key extends WeakReference<byte[]> {
        Key(byte[] bytes) {
            super(bytes);
        }
    }

    record Pair(byte[] one, int sum) {}

    /** Compiled code keeps the array of this field in a register through the whole inner loop. */
    static class Counter extends Thread {
        private long[] counts = new long[1024];
        volatile long done;
        volatile boolean wrong;

        void add(long rounds) {
            for (long round = 0; round < rounds; round++) {
                counts[(int) (round & 1023)]++;
            }
        }

        @Override
        public void run() {
            long all = 0;
            while (true) {
                long rounds = 20_000_000;
                add(rounds);
                all += rounds;
                long sum = 0;
                for (long count : counts) {
                    sum += count;
                }
                if (sum != all) {
                    wrong = true;
                }
                done++;
            }
        }
    }

    /** Changes arrays that are taken, a moment at a time. */
    static class Changer extends Thread {
        final int[] values = new int[2048];
        volatile boolean wrong;

        @Override
        public void run() {
            try {
                for (int turn = 1; ; turn++) {
                    for (int index = 0; index < values.length; index++) {
                        if (values[index] != turn - 1) {
                            wrong = true;
                        }
                        values[index] = turn;
                    }
                    Thread.sleep(1);
                }
            } catch (InterruptedException ended) {
                wrong = true;
            }
        }
    }

    static final byte[] CONSTANT = new byte[8192];
    static byte[] changing = new byte[8192];
    final List<Entry> entries = new ArrayList<>();
    final Kinds kinds = new Kinds();
    final byte[] hashed = new byte[8192];
    final int hash = System.identityHashCode(hashed);
    final byte[] locked = new byte[8192];
    byte[] keyed = new byte[8192];
    final Key key = new Key(keyed);
    final Pair pair = new Pair(new byte[8192], 0);
    final List<byte[]> listed = new ArrayList<>(List.of(new byte[8192]));
    final Counter counter = new Counter();
    final Changer changer = new Changer();
    private byte[] local = new byte[8192];
    int checks;

    String check() {
        int wrong = 0;
        for (Entry entry : entries) {
            wrong += entry.isRight() ? 0 : 1;
        }
        byte[] seen = local;
        String what = wrong > 0 ? wrong + " entries" : !kinds.isRight() ? "kinds" : System.identityHashCode(hashed) != hash ? "hash"
                : key.get() != keyed ? "weak reference" : pair.one().length != 8192 ? "record" : listed.get(0).length != 8192 ? "list"
                : CONSTANT.length != 8192 || changing.length != 8192 ? "static" : counter.wrong ? "a write in a loop was lost"
                : changer.wrong ? "a write between moments was lost" : seen.length != 8192 ? "local" : null;
        checks++;
        return what == null ? "right " + checks : "wrong: " + what;
    }

    void serve() throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        byte[] held = local;
        synchronized (locked) {
            for (String order; (order = orders.readLine()) != null; held[0]++) {
                if (order.equals("rounds")) {
                    long before = counter.done;
                    while (counter.done < before + 2) {
                        Thread.onSpinWait();
                    }
                }
                System.out.println(held == local ? check() : "wrong: an array changed under a running method");
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Held held = new Held();
        Random random = new Random(7);
        for (int index = 0; index < Integer.parseInt(arguments[0]); index++) {
            byte[] bytes = new byte[2048 + random.nextInt(8192)];
            random.nextBytes(bytes);
            held.entries.add(new Entry(bytes));
        }
        held.counter.setDaemon(true);
        held.changer.setDaemon(true);
        held.counter.start();
        held.changer.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("at the end " + held.check())));
        System.out.println("up");
        held.serve();
    }
}
