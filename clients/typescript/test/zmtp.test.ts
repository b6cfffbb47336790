/** The wire without sockets: each byte alone or all at once, what breaks it, and rubbish. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Curve, unarmored } from "../src/node/curve.js";
import { Mismatch, Wire, WireError } from "../src/node/zmtp.js";
import { OPENING, packed } from "./router.js";

const long = Buffer.alloc(70_000, 7);
const PING = Buffer.from("\x04\x0a\x04PING\0\x0aabc", "latin1");
const stream = Buffer.concat([
  OPENING,
  packed(Buffer.from("one")),
  PING,
  packed(long),
  packed(Buffer.alloc(0)),
]);

test("frames are the same however the bytes arrive", () => {
  for (const step of [1, 2, 3, 64, 65, 1000, stream.length]) {
    const wire = new Wire(null);
    const frames: Uint8Array[] = [];
    for (let at = 0; at < stream.length; at += step)
      frames.push(...wire.feed(stream.subarray(at, at + step)));
    assert.deepEqual(frames.map(Buffer.from), [Buffer.from("one"), long, Buffer.alloc(0)]);
    const out = Buffer.concat(wire.out).toString("latin1");
    assert.equal(out.slice(0, 16), "\xff\0\0\0\0\0\0\0\x01\x7f\x03\x01NULL");
    assert.match(out.slice(64), /^\x04.\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\0/s);
    assert.ok(out.endsWith("\x04\x08\x04PONGabc"));
  }
});

test("frames of one message carry MORE but for the last", () => {
  const bytes = new Wire(null).pack([Buffer.from("a"), Buffer.alloc(256), Buffer.from("c")]);
  assert.deepEqual([bytes[0], bytes[3], bytes.at(-3)], [1, 3, 0]);
  assert.equal(bytes.length, 3 + 9 + 256 + 3);
});

const KEY = {
  public: "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
  secret: "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs",
  server: "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
};

test("what breaks the protocol is one kind of error", () => {
  const error = "\x04\x0a\x05ERROR\x03no!";
  const broken: [string, Buffer][] = [
    ["not a ZeroMQ socket", Buffer.from("HTTP/1.1 400 Bad Request")],
    ["version 1 of ZMTP", Buffer.from("ff00000000000000017f0100", "hex")],
    ["expected NULL", Buffer.concat([OPENING.subarray(0, 12), Buffer.from("CURVE".padEnd(52, "\0"))])],
    ["flags 8", Buffer.concat([OPENING, Buffer.from([8, 0])])],
    ["at most 65536", Buffer.concat([OPENING, Buffer.from("060000000000010001", "hex")])],
    ["flags 5", Buffer.concat([OPENING, Buffer.from([5, 0])])],
    ["at most 2147483648", Buffer.concat([OPENING, Buffer.from("027fffffffffffffff", "hex")])],
    ["before READY", Buffer.concat([OPENING.subarray(0, 64), packed(Buffer.from("x"))])],
    [
      "longer than READY",
      Buffer.concat([OPENING.subarray(0, 64), Buffer.from("\x04\x08\x05READY\x0bS", "latin1")]),
    ],
    [
      "type REP",
      Buffer.from(
        OPENING.toString("latin1").replace("\x06ROUTER", "\x03REP").replace("\x04\x1c", "\x04\x19"),
        "latin1",
      ),
    ],
    ["the broker says: no!", Buffer.concat([OPENING.subarray(0, 64), Buffer.from(error, "latin1")])],
  ];
  for (const [text, bytes] of broken) {
    assert.throws(
      () => new Wire(null).feed(bytes),
      (thrown) => thrown instanceof WireError && thrown.message.includes(text),
      text,
    );
  }
  assert.throws(() => new Wire(new Curve(KEY)).feed(OPENING), Mismatch);
});

test("frames that come with an error are not lost", () => {
  const frames: Uint8Array[] = [];
  const error = Buffer.from("\x04\x0a\x05ERROR\x03no!", "latin1");
  const bytes = Buffer.concat([OPENING, packed(Buffer.from("one")), error]);
  assert.throws(() => new Wire(null).feed(bytes, frames), WireError);
  assert.deepEqual(frames.map(Buffer.from), [Buffer.from("one")]);
});

test("keys are read as RFC 32 writes them", () => {
  // The example of https://rfc.zeromq.org/spec/26/ and of libzmq's manual.
  assert.equal(
    Buffer.from(unarmored(KEY.public)).toString("hex"),
    "bb88471d65e2659b30c55a5321cebb5aab2b70a398645c26dca2b2fcb43fc518",
  );
});

test("rubbish ends a connection, and nothing else", () => {
  let state = 12345n;
  const random = (below: number): number => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number((state >> 33n) % BigInt(below));
  };
  let ended = 0;
  for (let round = 0; round < 2000; round++) {
    const curve = round % 20 ? null : new Curve(KEY); // which costs milliseconds
    const bytes = Buffer.from(stream.subarray(0, 200));
    if (curve) bytes.write("CURVE", 12);
    for (let faults = 1 + random(4); faults > 0; faults--) bytes[random(bytes.length)] = random(256);
    try {
      new Wire(curve).feed(bytes);
    } catch (error) {
      assert.ok(error instanceof WireError, String(error));
      ended += 1;
    }
  }
  assert.ok(ended > 500);
});
