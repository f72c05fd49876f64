<?php
// Calls a weft server by JSON-RPC, over HTTP and over TCP. The argument is the address.
declare(strict_types=1);

function check(mixed $got, mixed $want): void
{
    if ($got !== $want) {
        fwrite(STDERR, json_encode($got) . " came, want " . json_encode($want) . "\n");
        exit(1);
    }
}

$address = $argv[1];
$post = function (mixed $value, string $kind = "application/json") use ($address): mixed {
    $context = stream_context_create(["http" => [
        "method" => "POST", "header" => "Content-Type: $kind", "content" => json_encode($value), "timeout" => 60, "ignore_errors" => true,
    ]]);
    return json_decode(file_get_contents("http://$address/rpc", false, $context), true);
};
$request = fn (string $method, mixed $params, mixed $id): array => ["jsonrpc" => "2.0", "method" => $method, "params" => $params, "id" => $id];

check($post($request("Arith.Mul", [7, 8], 1)), ["jsonrpc" => "2.0", "id" => 1, "result" => 56]);
check($post($request("Arith.Mul", ["a" => 7, "b" => 8], "text"), "application/json-rpc")["id"], "text");
check($post($request("Arith.None", [], null))["error"]["code"], -32601);
check($post($request("Arith.Div", ["a" => 1], 2))["error"]["data"]["reason"], "ZERO");
$answers = $post([$request("Arith.Mul", [2, 3], 3), ["jsonrpc" => "2.0", "method" => "Arith.Mul", "params" => [1, 1]], $request("Arith.Mul", [4, 5], 4)]);
usort($answers, fn (array $a, array $b): int => $a["id"] <=> $b["id"]);
check(array_column($answers, "result", "id"), [3 => 6, 4 => 20]);

$socket = stream_socket_client("tcp://$address", $code, $why, 60);
stream_set_timeout($socket, 60);
foreach (range(1, 50) as $n) {
    fwrite($socket, json_encode($request("Arith.Mul", [$n, 3], $n)));
}
$results = [];
foreach (range(1, 50) as $n) {
    $answer = json_decode(fgets($socket), true);
    $results[$answer["id"]] = $answer["result"];
}
ksort($results);
check($results, array_combine(range(1, 50), array_map(fn (int $n): int => 3 * $n, range(1, 50))));
fclose($socket);
