import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

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

    /** An array that a field holds, and that is reached by every way around the field: what comes back must be seen by each of them. */
    static class Ways implements Cloneable, Serializable {
        private byte[] bytes = new byte[8192];
        private static final Field FIELD;
        private static final VarHandle HANDLE;
        private static final sun.misc.Unsafe UNSAFE;
        private static final long OFFSET;

        static {
            try {
                FIELD = Ways.class.getDeclaredField("bytes");
                HANDLE = MethodHandles.lookup().findVarHandle(Ways.class, "bytes", byte[].class);
                Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
                unsafe.setAccessible(true);
                UNSAFE = (sun.misc.Unsafe) unsafe.get(null);
                OFFSET = UNSAFE.objectFieldOffset(FIELD);
            } catch (ReflectiveOperationException absent) {
                throw new ExceptionInInitializerError(absent);
            }
        }

        @Override
        public Ways clone() {
            try {
                return (Ways) super.clone();
            } catch (CloneNotSupportedException never) {
                throw new AssertionError(never);
            }
        }

        byte[] copied() throws IOException, ClassNotFoundException {
            ByteArrayOutputStream written = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(written)) {
                out.writeObject(this);
            }
            try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(written.toByteArray()))) {
                return ((Ways) in.readObject()).bytes;
            }
        }

        /** Writes by one way and reads by the others; the twin was cloned before, and has the same array. */
        boolean isRight(Ways twin, int turn) throws Exception {
            ((byte[]) HANDLE.getVolatile(this))[turn % 8192] = (byte) turn;
            byte[] seen = (byte[]) FIELD.get(this);
            boolean isSame = seen == bytes && seen == UNSAFE.getObject(this, OFFSET) && seen == twin.bytes && HANDLE.compareAndSet(this, seen, seen);
            return isSame && twin.bytes[turn % 8192] == (byte) turn && Arrays.equals(copied(), bytes) && Array.getLength(bytes) == 8192;
        }
    }

    /** Native code of the JDK is in critical sections of JNI on these arrays nearly all the time. */
    static class Packer extends Thread {
        private final byte[] plain = new byte[64 << 10];
        private final byte[] packed = new byte[128 << 10];
        private final byte[] unpacked = new byte[64 << 10];
        volatile boolean wrong;

        @Override
        public void run() {
            Deflater deflater = new Deflater(1);
            Inflater inflater = new Inflater();
            try {
                for (int turn = 1; ; turn++) {
                    plain[turn & 0xffff] = (byte) turn;
                    deflater.reset();
                    deflater.setInput(plain);
                    deflater.finish();
                    int length = deflater.deflate(packed);
                    inflater.reset();
                    inflater.setInput(packed, 0, length);
                    if (inflater.inflate(unpacked) != plain.length || !Arrays.equals(plain, unpacked)) {
                        wrong = true;
                    }
                }
            } catch (DataFormatException damaged) {
                wrong = true;
            }
        }
    }

    /** Arrays in the JDK's own objects that are taken: buffers, and values of maps. */
    static class Jdk {
        final ByteBuffer buffer = ByteBuffer.allocate(8192);
        final ByteBuffer view = buffer.asReadOnlyBuffer();
        final CharBuffer characters = CharBuffer.allocate(4096);
        final Map<Integer, byte[]> hashed = new HashMap<>();
        final Map<Integer, byte[]> linked = new LinkedHashMap<>();
        final Map<Integer, byte[]> sorted = new TreeMap<>();
        final Map<Integer, byte[]> concurrent = new ConcurrentHashMap<>();

        Jdk() {
            for (int key = 0; key < 50; key++) {
                for (Map<Integer, byte[]> map : List.of(hashed, linked, sorted, concurrent)) {
                    map.put(key, new byte[4096]);
                }
            }
        }

        /** Writes to all, and reads what was written the last time. */
        boolean isRight(int turn) {
            boolean isRight = buffer.getInt(100) == turn && view.getInt(100) == turn && characters.get(7) == (char) turn;
            buffer.putInt(100, turn + 1);
            characters.put(7, (char) (turn + 1));
            for (Map<Integer, byte[]> map : List.of(hashed, linked, sorted, concurrent)) {
                for (Map.Entry<Integer, byte[]> entry : map.entrySet()) {
                    byte[] value = entry.getValue();
                    isRight &= value.length == 4096 && value[entry.getKey()] == (byte) turn && map.containsValue(value);
                    value[entry.getKey()]++;
                }
            }
            return isRight;
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
    final Packer packer = new Packer();
    final Jdk jdk = new Jdk();
    final Ways ways = new Ways();
    final Ways twin = ways.clone();
    private byte[] local = new byte[8192];
    int checks;

    String check() throws Exception {
        int wrong = 0;
        for (Entry entry : entries) {
            wrong += entry.isRight() ? 0 : 1;
        }
        byte[] seen = local;
        String what = wrong > 0 ? wrong + " entries" : !kinds.isRight() ? "kinds" : System.identityHashCode(hashed) != hash ? "hash"
                : key.get() != keyed ? "weak reference" : pair.one().length != 8192 ? "record" : listed.get(0).length != 8192 ? "list"
                : CONSTANT.length != 8192 || changing.length != 8192 ? "static" : counter.wrong ? "a write in a loop was lost"
                : changer.wrong ? "a write between moments was lost" : packer.wrong ? "native code saw other bytes"
                : !ways.isRight(twin, checks) ? "a way around the field" : !jdk.isRight(checks) ? "an object of the JDK" : seen.length != 8192 ? "local" : null;
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
        held.packer.setDaemon(true);
        held.packer.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                System.out.println("at the end " + held.check());
            } catch (Exception wrong) {
                System.out.println("at the end " + wrong);
            }
        }));
        System.out.println("up");
        held.serve();
    }
}
