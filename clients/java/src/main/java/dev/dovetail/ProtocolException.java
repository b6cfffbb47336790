package dev.dovetail;

import dev.dovetail.Message.Code;
import dev.dovetail.Message.Role;

/** A frame or message that the contract refuses. */
public class ProtocolException extends DovetailException {
    private static final long serialVersionUID = 1L;

    /** The code in the contract. */
    private final Code code;

    /** Where in the message it is, as far as known; empty for the message as a whole. */
    private final String path;

    /**
     * @param code what the contract calls this
     * @param message one line for a person
     */
    public ProtocolException(Code code, String message) {
        this(code, "", message);
    }

    private ProtocolException(Code code, String path, String message) {
        super(message);
        this.code = code;
        this.path = path;
    }

    /** A value that is not what it must be. */
    static ProtocolException invalid(String problem) {
        return new ProtocolException(Code.INVALID, problem);
    }

    /** A message that a peer of this role does not receive. */
    static ProtocolException unknown(Role role, String type) {
        return new ProtocolException(Code.UNKNOWN_TYPE, "no message '" + type + "' goes to the role " + role.toWire());
    }

    /** The same of a value in a field of this name, or in a message of this type. */
    ProtocolException in(String name) {
        return code == Code.INVALID ? new ProtocolException(code, path.isEmpty() ? name : name + "." + path, problem())
                : this;
    }

    private String problem() {
        return super.getMessage();
    }

    @Override
    public String getMessage() {
        return path.isEmpty() ? problem() : path + " " + problem();
    }

    /** {@return what the contract calls this} */
    public Code code() {
        return code;
    }
}
