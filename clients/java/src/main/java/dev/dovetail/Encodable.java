package dev.dovetail;

/** A value of the contract that is encoded as plain values. */
public interface Encodable {
    /** {@return what is encoded in its place: a map, list or text} */
    Object toWire();
}
