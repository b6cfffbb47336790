package dev.dovetail;

/** A request that the broker, or whom it was for, refused with an {@code error}. */
public class RefusedException extends DovetailException {
    private static final long serialVersionUID = 1L;

    /** One of the error codes. */
    private final String code;

    /**
     * @param code one of SPEC.md's error codes, or one of a later version
     * @param message one line for a person
     */
    public RefusedException(String code, String message) {
        super(message);
        this.code = code;
    }

    /** {@return the error code, such as {@code unknown}} */
    public String code() {
        return code;
    }
}
