#!/bin/sh
# Puts the program nacos where the tests of registry/nacos find it:
#
#	nacos DATA PORT [OPTION...]
#
# runs a Nacos of one node that keeps its data in the folder DATA and serves its HTTP
# API at PORT of the loopback address; it takes the ports 1000 below, and 1000 and 1001
# above it too. Nacos publishes its server in Maven's central repository as a library, so
# the program is its jars and a main class of ten lines. Does nothing when it is there.
set -eu
cd "$(dirname "$0")/.."

version=3.1.0-bugfix
sum=d11987761491f811524f420c8898a76e4a41be79c420d4007d5b3e0be9852867 # of the sums of all jars
home=${XDG_CACHE_HOME:-$HOME/.cache}/weft/registries
folder=$home/nacos-$version
if [ -x "$home/bin/nacos" ] && [ -f "$folder/main.jar" ] && command -v java >/dev/null; then
	exit 0
fi
./need.sh javac mvn

printf 'Fetching nacos (120 MB)\n'
mkdir -p "$home/bin"
work=$(mktemp -d "$home/nacos.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# Left out are a console, and the bridges to Istio and MySQL.
cat >"$work/pom.xml" <<XML
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>weft</groupId><artifactId>nacos</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>io.github.pig-mesh.nacos</groupId><artifactId>nacos-server</artifactId><version>$version</version>
      <exclusions>
        <exclusion><groupId>io.github.pig-mesh.nacos</groupId><artifactId>nacos-istio</artifactId></exclusion>
        <exclusion><groupId>com.mysql</groupId><artifactId>*</artifactId></exclusion>
      </exclusions>
    </dependency>
  </dependencies>
</project>
XML
./retry.sh mvn -q -B -f "$work/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
	-DincludeScope=runtime -DoutputDirectory="$work/lib" >"$work/log" 2>&1 || {
	tail -n 20 "$work/log" >&2
	printf 'The jars of nacos could not be fetched.\n' >&2
	exit 1
}
got=$(cd "$work/lib" && LC_ALL=C && export LC_ALL && sha256sum -- *.jar | sha256sum | cut -d ' ' -f 1)
if [ "$got" != "$sum" ]; then
	printf 'The jars of nacos have the sum %s, not the pinned %s.\n' "$got" "$sum" >&2
	exit 1
fi

mkdir -p "$work/classes/META-INF/services"
# What Nacos' own launcher, which is not published there, does; with "exit", it ends when
# it serves.
cat >"$work/Main.java" <<'JAVA'
import com.alibaba.nacos.NacosServerBasicApplication;
import com.alibaba.nacos.NacosServerWebApplication;
import com.alibaba.nacos.core.listener.startup.NacosStartUp;
import com.alibaba.nacos.core.listener.startup.NacosStartUpManager;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;

public class Main {
	public static void main(String[] args) {
		NacosStartUpManager.start(NacosStartUp.CORE_START_UP_PHASE);
		var core = new SpringApplicationBuilder(NacosServerBasicApplication.class).web(WebApplicationType.NONE).run(args);
		NacosStartUpManager.start(NacosStartUp.WEB_START_UP_PHASE);
		new SpringApplicationBuilder(NacosServerWebApplication.class).parent(core).run(args);
		if (System.getProperty("exit") != null) {
			System.exit(0);
		}
	}
}
JAVA
# Nacos lets its Raft protocol listen on every address of the machine; this keeps it on
# the loopback address, as properties do for the rest.
cat >"$work/Loopback.java" <<'JAVA'
import io.grpc.ServerBuilder;
import io.grpc.ServerProvider;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.net.InetSocketAddress;

public class Loopback extends ServerProvider {
	protected boolean isAvailable() { return true; }
	protected int priority() { return 10; }
	protected ServerBuilder<?> builderForPort(int port) {
		return NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", port));
	}
}
JAVA
echo Loopback >"$work/classes/META-INF/services/io.grpc.ServerProvider"
# No login is needed unless the options of a test ask for it; the key signs the tokens.
cat >"$work/classes/application.properties" <<'PROPERTIES'
server.address=127.0.0.1
nacos.core.auth.system.type=nacos
nacos.core.auth.enabled=false
nacos.core.auth.admin.enabled=false
nacos.core.auth.server.identity.key=weft
nacos.core.auth.server.identity.value=test
nacos.core.auth.plugin.nacos.token.secret.key=d2VmdCBydW5zIHRoaXMgZm9yIGl0cyB0ZXN0cyBvbmx5LCBvbiBsb29wYmFjaw==
PROPERTIES
# Instead of forty log files.
cat >"$work/classes/warnings.xml" <<'XML'
<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %level %logger{0}: %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
XML
javac -cp "$work/lib/*" -d "$work/classes" "$work/Main.java" "$work/Loopback.java"
jar --create --file "$work/main.jar" -C "$work/classes" .

rm -rf "$folder"
mkdir "$folder"
mv "$work/lib" "$work/main.jar" "$folder"
# Of two libraries with the same classes, the first one must be the newer. Nothing waits
# for the disk: the tests kill processes, not machines.
classes=$folder/main.jar:$folder/lib/hessian-4.0.63.jar$(printf ':%s' "$folder"/lib/*.jar)
cat >"$work/nacos" <<SH
#!/bin/sh
data=\$1 port=\$2
shift 2
exec java -XX:SharedArchiveFile="$folder/classes.jsa" -Xlog:disable -Xlog:all=error:stderr \\
	-Xms400m -Xmn250m -Xmx600m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dderby.system.durability=test \\
	-Dderby.stream.error.file="\$data/derby.log" \\
	-Dnacos.standalone=true -Dnacos.server.ip=127.0.0.1 -Dnacos.remote.grpc.listen.ip=127.0.0.1 \\
	-Dnacos.home="\$data" -Duser.home="\$data" -Djava.io.tmpdir="\$data" -cp "$classes" \\
	Main --nacos.server.main.port="\$port" --logging.config=classpath:warnings.xml "\$@"
SH
chmod +x "$work/nacos"

# A start takes half of the time when Java finds the classes as it had them in memory the
# last time. Without that file, nacos works all the same.
printf 'Starting nacos once, so that later starts are quick\n'
sed "s/-XX:SharedArchiveFile=/-Dexit=yes -XX:ArchiveClassesAtExit=/" "$work/nacos" >"$work/train"
timeout 120 sh "$work/train" "$work/data" "$(shuf -i 15000-28000 -n 1)" >"$work/log" 2>&1 || tail -n 20 "$work/log" >&2
mv "$work/nacos" "$home/bin/nacos"
