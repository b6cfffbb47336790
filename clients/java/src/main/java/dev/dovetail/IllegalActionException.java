package dev.dovetail;

/** The rules refuse an action; the message names it and what is legal. */
public class IllegalActionException extends DovetailException {
    private static final long serialVersionUID = 1L;

    /** The seat to blame, or null. */
    private final Integer seat;

    /**
     * @param seat the seat whose action it is; null if it is not one seat's
     * @param message one line for a person
     */
    public IllegalActionException(Integer seat, String message) {
        super(message);
        this.seat = seat;
    }

    /** {@return the seat to blame, or null} */
    public Integer seat() {
        return seat;
    }
}
