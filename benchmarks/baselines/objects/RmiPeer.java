import java.net.InetAddress;
import java.net.ServerSocket;
import java.rmi.Remote;
import java.rmi.RemoteException;
import java.rmi.registry.LocateRegistry;
import java.rmi.server.RMIServerSocketFactory;
import java.rmi.server.UnicastRemoteObject;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** A null call by Java RMI, as the JDK has it: {@code RmiPeer server}, and {@code RmiPeer PORT} for the client. */
final class RmiPeer {
    private static final String NAME = "counted";

    /** An object without state but the number of its calls. */
    public interface NullCall extends Remote {
        void call() throws RemoteException;
    }

    private static final class Counted implements NullCall {
        private final AtomicLong ran = new AtomicLong();

        @Override
        public void call() {
            ran.incrementAndGet();
        }
    }

    public static void main(String[] words) throws Exception {
        if (words[0].equals("server")) {
            serve();
        } else {
            var registry = LocateRegistry.getRegistry(InetAddress.getLoopbackAddress().getHostAddress(), Integer.parseInt(words[0]));
            NullCall counted = (NullCall) registry.lookup(NAME);
            Side.call(counted::call);
        }
    }

    private static void serve() throws Exception {
        Counted counted = new Counted();
        // The registry keeps its port to itself, so the socket is asked for it.
        AtomicInteger port = new AtomicInteger();
        RMIServerSocketFactory ofRegistry = wanted -> {
            ServerSocket socket = onLoopback(wanted);
            port.set(socket.getLocalPort());
            return socket;
        };
        var registry = LocateRegistry.createRegistry(0, null, ofRegistry);
        registry.rebind(NAME, UnicastRemoteObject.exportObject(counted, 0, null, RmiPeer::onLoopback));
        Side.serve(port.get(), counted.ran::get);
    }

    private static ServerSocket onLoopback(int port) throws java.io.IOException {
        return new ServerSocket(port, 0, InetAddress.getLoopbackAddress());
    }
}
