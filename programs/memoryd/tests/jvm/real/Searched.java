import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Random;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;

/** An index by Lucene, in memory. It answers each line with what it finds for a hundred words, after it has added documents. */
public class Searched {
    private final IndexWriter writer;
    private final Random random = new Random(7);

    Searched() throws Exception {
        writer = new IndexWriter(new ByteBuffersDirectory(), new IndexWriterConfig(new StandardAnalyzer()));
        add(100_000);
    }

    void add(int documents) throws Exception {
        for (int number = 0; number < documents; number++) {
            StringBuilder text = new StringBuilder();
            for (int word = 0; word < 100; word++) {
                text.append("word").append((int) Math.abs(random.nextGaussian() * 2000)).append(' ');
            }
            Document document = new Document();
            document.add(new TextField("text", text.toString(), Field.Store.YES));
            writer.addDocument(document);
        }
        writer.commit();
    }

    String answer() throws Exception {
        add(200);
        long hits = 0;
        int sum = 0;
        try (DirectoryReader reader = DirectoryReader.open(writer)) {
            IndexSearcher searcher = new IndexSearcher(reader);
            for (int word = 0; word < 100; word++) {
                TopDocs found = searcher.search(new TermQuery(new Term("text", "word" + random.nextInt(4000))), 5);
                hits += found.totalHits.value;
                for (int rank = 0; rank < found.scoreDocs.length; rank++) {
                    sum = 31 * sum + reader.storedFields().document(found.scoreDocs[rank].doc).get("text").hashCode();
                }
            }
            return reader.numDocs() + " " + hits + " " + sum;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Searched searched = new Searched();
        System.out.println("up");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        while (orders.readLine() != null) {
            System.out.println(searched.answer());
        }
    }
}
