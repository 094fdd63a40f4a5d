import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.CRC32;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** The Java compiler, kept as a build daemon keeps it. It answers each line with a checksum of the classes that it made of the source that it was given. */
public class Compiled {
    public static void main(String[] arguments) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
        Path folder = Files.createTempDirectory("iolite-compiled");
        System.out.println("up");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        while (orders.readLine() != null) {
            List<String> options = List.of("-nowarn", "-XDignore.symbol.file", "-d", folder.toString());
            boolean isDone = compiler.getTask(null, files, null, options, null, files.getJavaFileObjects(new File(arguments[0]))).call();
            CRC32 sum = new CRC32();
            File[] classes = folder.toFile().listFiles();
            java.util.Arrays.sort(classes);
            for (File made : classes) {
                sum.update(Files.readAllBytes(made.toPath()));
            }
            System.out.println(isDone + " " + classes.length + " " + sum.getValue());
        }
    }
}
