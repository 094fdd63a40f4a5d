import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.function.LongSupplier;

/**
 * One side of a peer, as the benchmark starts it: a value of JSON a line, over standard input and output.
 *
 * <p>The Rust side of the same words is benchmarks/src/objects/side.rs.
 */
final class Side {
    /** A null call. */
    interface Call {
        void run() throws Exception;
    }

    private static final BufferedReader PARENT = new BufferedReader(new InputStreamReader(System.in));

    /** Says where the server listens, and then how many calls ran, as often as it is asked. Ends with its parent. */
    static void serve(int port, LongSupplier ran) throws IOException {
        System.out.println("{\"port\":" + port + "}");
        while (PARENT.readLine() != null) {
            System.out.println(ran.getAsLong());
        }
        System.exit(0);
    }

    /** Calls in a closed loop for as many milliseconds as it is told, as often as it is told. */
    static void call(Call call) throws Exception {
        System.out.println("\"ready\"");
        for (String millis = PARENT.readLine(); millis != null; millis = PARENT.readLine()) {
            run(call, Long.parseLong(millis) * 1_000_000);
        }
        System.exit(0);
    }

    private static void run(Call call, long nanos) throws Exception {
        Latencies latencies = new Latencies();
        long begun = System.nanoTime();
        long now = begun;
        while (now - begun < nanos) {
            long called = System.nanoTime();
            call.run();
            now = System.nanoTime();
            latencies.record(now - called);
        }
        System.out.println("{\"latency\":" + latencies.json() + ",\"nanos\":" + (now - begun) + "}");
    }
}
