import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import org.apache.pdfbox.Loader;
import org.apache.pdfbox.pdmodel.PDDocument;
import org.apache.pdfbox.pdmodel.PDPage;
import org.apache.pdfbox.pdmodel.PDPageContentStream;
import org.apache.pdfbox.pdmodel.font.PDType1Font;
import org.apache.pdfbox.pdmodel.font.Standard14Fonts;
import org.apache.pdfbox.text.PDFTextStripper;

/** A document by PDFBox that is kept open. It answers each line with what the text of the written document is, after it has added a page. */
public class Printed {
    private final PDDocument document = new PDDocument();
    private int lines;

    void addPage() throws Exception {
        PDPage page = new PDPage();
        document.addPage(page);
        try (PDPageContentStream content = new PDPageContentStream(document, page)) {
            content.beginText();
            content.setFont(new PDType1Font(Standard14Fonts.FontName.HELVETICA), 8);
            content.setLeading(10);
            content.newLineAtOffset(20, 760);
            for (int line = 0; line < 70; line++) {
                content.showText("Line " + lines++ + " has the square " + (long) lines * lines);
                content.newLine();
            }
            content.endText();
        }
    }

    String answer() throws Exception {
        addPage();
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        document.save(written);
        try (PDDocument read = Loader.loadPDF(written.toByteArray())) {
            return read.getNumberOfPages() + " " + new PDFTextStripper().getText(read).hashCode();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Printed printed = new Printed();
        for (int page = 0; page < 200; page++) {
            printed.addPage();
        }
        System.out.println("up");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        while (orders.readLine() != null) {
            System.out.println(printed.answer());
        }
    }
}
