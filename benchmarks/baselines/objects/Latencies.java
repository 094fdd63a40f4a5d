/**
 * How often each latency came. Values keep their eleven highest bits, as in the histogram of three digits that the Rust side adds them to
 * (benchmarks/src/latency.rs).
 */
final class Latencies {
    private static final int BITS = 11;

    private final long[] counts = new long[(Long.SIZE - BITS) << BITS];

    void record(long nanos) {
        counts[place(Math.max(nanos, 1))]++;
    }

    private static int place(long nanos) {
        int shift = Math.max(0, Long.SIZE - BITS - Long.numberOfLeadingZeros(nanos));
        return (shift << BITS) | (int) (nanos >>> shift);
    }

    /** The highest latency that is counted at a place. */
    private static long latency(int place) {
        int shift = place >>> BITS;
        long highest = place & ((1 << BITS) - 1);
        return ((highest + 1) << shift) - 1;
    }

    /** Pairs of a latency and its count. */
    String json() {
        StringBuilder text = new StringBuilder("[");
        for (int place = 0; place < counts.length; place++) {
            if (counts[place] > 0) {
                text.append(text.length() > 1 ? "," : "");
                text.append('[').append(latency(place)).append(',').append(counts[place]).append(']');
            }
        }
        return text.append(']').toString();
    }
}
