import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;
import java.util.zip.CRC32;

/**
 * A program with H2's database in memory, which nobody here wrote. 20,000 rows, a third of them with a value of 2 to 64 KiB. It answers each line that it
 * reads with checksums by SQL, after it has changed a few rows.
 */
public class Database {
    static final int ROWS = 20_000;
    private final Connection connection;
    private int turn;

    Database() throws SQLException {
        connection = DriverManager.getConnection("jdbc:h2:mem:test;DB_CLOSE_DELAY=-1");
        Random random = new Random(7);
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE item(id INT PRIMARY KEY, name VARCHAR, number BIGINT, data VARBINARY(70000))");
            statement.execute("CREATE INDEX of_number ON item(number)");
        }
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO item VALUES(?, ?, ?, ?)")) {
            for (int id = 0; id < ROWS; id++) {
                byte[] data = new byte[id % 3 == 0 ? 2048 + random.nextInt(62 * 1024) : 16];
                random.nextBytes(data);
                insert.setInt(1, id);
                insert.setString(2, "item " + id);
                insert.setLong(3, random.nextInt(1000));
                insert.setBytes(4, data);
                insert.execute();
            }
        }
    }

    /** Changes some rows, and sums up all of them. */
    String answer() throws SQLException {
        turn++;
        try (PreparedStatement update = connection.prepareStatement("UPDATE item SET number = number + 1, data = ? WHERE id = ?")) {
            Random random = new Random(turn);
            for (int change = 0; change < 100; change++) {
                byte[] data = new byte[2048 + random.nextInt(62 * 1024)];
                random.nextBytes(data);
                update.setBytes(1, data);
                update.setInt(2, 3 * random.nextInt(ROWS / 3));
                update.execute();
            }
        }
        CRC32 sum = new CRC32();
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT data FROM item ORDER BY id")) {
            while (rows.next()) {
                sum.update(rows.getBytes(1));
            }
        }
        String query = "SELECT COUNT(*), SUM(number), SUM(LENGTH(data)), SUM(ORA_HASH(data)), MAX(name) FROM item";
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(query)) {
            row.next();
            return turn + " " + row.getLong(1) + " " + row.getLong(2) + " " + row.getLong(3) + " " + row.getString(4) + " " + row.getString(5) + " " + sum.getValue();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Database database = new Database();
        System.out.println("up");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        while (orders.readLine() != null) {
            System.out.println(database.answer());
        }
    }
}
