package dev.dovetail;

import dev.dovetail.Message.Error;

/** A request that the broker, or the program that it was for, refused with an {@code error}. */
public class RefusedException extends DovetailException {
    private static final long serialVersionUID = 1L;

    /** One of the error codes. */
    private final String code;

    /**
     * @param code the text of a {@link Message.Code}, or of a code of a later version
     * @param message one line for a person
     */
    public RefusedException(String code, String message) {
        super(Host.oneLine(message));
        this.code = code;
    }

    static RefusedException of(Error error) {
        return new RefusedException(error.code(), error.message());
    }

    /** {@return the text of a {@link Message.Code}, or of a code of a later version} */
    public String code() {
        return code;
    }
}
