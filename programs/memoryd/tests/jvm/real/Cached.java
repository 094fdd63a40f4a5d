import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Random;
import java.util.zip.CRC32;

/** A cache by Caffeine with values of 4 KiB and 1 MiB. It answers each line with a checksum of all of them, after it has replaced a few. */
public class Cached {
    static final int VALUES = 20_000;

    static byte[] value(int key, Random random) {
        byte[] value = new byte[key % 200 == 0 ? 1 << 20 : 4096];
        random.nextBytes(value);
        return value;
    }

    public static void main(String[] arguments) throws Exception {
        Cache<Integer, byte[]> cache = Caffeine.newBuilder().maximumWeight(1L << 40).weigher((Integer key, byte[] value) -> value.length).build();
        Random random = new Random(7);
        for (int key = 0; key < VALUES; key++) {
            cache.put(key, value(key, random));
        }
        System.out.println("up");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        while (orders.readLine() != null) {
            for (int change = 0; change < 100; change++) {
                int key = random.nextInt(VALUES);
                cache.put(key, value(key, random));
            }
            CRC32 sum = new CRC32();
            for (int key = 0; key < VALUES; key++) {
                sum.update(cache.getIfPresent(key));
            }
            System.out.println(cache.estimatedSize() + " " + sum.getValue());
        }
    }
}
