import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TSocket;

/**
 * A null call by Thrift, in its binary protocol, over a socket with buffers and a thread for each connection: {@code ThriftPeer server}, and
 * {@code ThriftPeer PORT} for the client. {@code NullCall} is what Thrift's compiler makes of NullCall.thrift.
 */
final class ThriftPeer {
    public static void main(String[] words) throws Exception {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        if (words[0].equals("server")) {
            AtomicLong ran = new AtomicLong();
            NullCall.Iface counted = ran::incrementAndGet;
            TServerSocket listener = new TServerSocket(new InetSocketAddress(loopback, 0));
            var arguments = new TThreadPoolServer.Args(listener).processor(new NullCall.Processor<>(counted));
            TThreadPoolServer server = new TThreadPoolServer(arguments.protocolFactory(new TBinaryProtocol.Factory()));
            new Thread(server::serve).start();
            Side.serve(listener.getServerSocket().getLocalPort(), ran::get);
        } else {
            TSocket socket = new TSocket(loopback.getHostAddress(), Integer.parseInt(words[0]));
            socket.open();
            NullCall.Client counted = new NullCall.Client(new TBinaryProtocol(socket));
            Side.call(counted::call);
        }
    }
}
