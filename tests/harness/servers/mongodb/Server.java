// The in-memory server for MongoDB's protocol as a program: java … Server [PORT], by default a free one of 127.0.0.1.
// Prints the port once it listens, and serves until it is killed.

import java.net.InetSocketAddress;

import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;

public final class Server {
	// A command occupies the thread of its connection as long as it runs: a connection needs one that no other has.
	private static final int THREADS = 64;

	public static void main(String[] arguments) {
		int port = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0;
		MongoServer server = new MongoServer(new MemoryBackend());
		server.bind(new InetSocketAddress("127.0.0.1", port), 1, THREADS);
		System.out.println("port=" + server.getLocalAddress().getPort());
	}
}
