package dev.dovetail;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Predicate;

/** The options that an agent type or environment has: names, types, ranges and defaults. */
public final class Options {
    private record Option(
            String name, Map<String, Object> schema, Object otherwise, String wanted, Predicate<Object> fits) {}

    private final List<Option> options = new ArrayList<>();

    /** Begins with no option; each of the other methods adds one. */
    public Options() {}

    /**
     * Adds an option that is true or false.
     *
     * @param name its name
     * @param otherwise its default
     * @param description one sentence for a person
     * @return these options
     */
    public Options bool(String name, boolean otherwise, String description) {
        return add(name, "boolean", Map.of(), otherwise, description, "true or false", each -> each instanceof Boolean);
    }

    /**
     * Adds an option that is an integer.
     *
     * @param name its name
     * @param otherwise its default
     * @param least the lowest it may be
     * @param most the highest it may be
     * @param description one sentence for a person
     * @return these options
     */
    public Options integer(String name, long otherwise, long least, long most, String description) {
        return add(name, "integer", Map.of("minimum", least, "maximum", most), otherwise, description,
                "an integer from " + least + " to " + most,
                each -> each instanceof Long number && number >= least && number <= most);
    }

    /**
     * Adds an option that is a number.
     *
     * @param name its name
     * @param otherwise its default
     * @param least the lowest it may be
     * @param most the highest it may be
     * @param description one sentence for a person
     * @return these options
     */
    public Options number(String name, double otherwise, double least, double most, String description) {
        return add(name, "number", Map.of("minimum", least, "maximum", most), otherwise, description,
                "a number from " + least + " to " + most,
                each -> each instanceof Number number && number.doubleValue() >= least && number.doubleValue() <= most);
    }

    /**
     * Adds an option that is a text.
     *
     * @param name its name
     * @param otherwise its default
     * @param description one sentence for a person
     * @return these options
     */
    public Options text(String name, String otherwise, String description) {
        return add(name, "string", Map.of(), otherwise, description, "text", each -> each instanceof String);
    }

    /**
     * Adds an option that is one of some texts.
     *
     * @param name its name
     * @param choices the texts; the first is the default
     * @param description one sentence for a person
     * @return these options
     */
    public Options choice(String name, List<String> choices, String description) {
        return add(name, "string", Map.of("enum", choices), choices.get(0), description,
                "one of " + String.join(", ", choices), each -> each instanceof String && choices.contains(each));
    }

    /**
     * Adds an option of any value.
     *
     * @param name its name
     * @param otherwise its default
     * @param description one sentence for a person
     * @return these options
     */
    public Options any(String name, Object otherwise, String description) {
        return add(name, null, Map.of(), otherwise, description, "a value", each -> true);
    }

    private Options add(String name, String type, Map<String, Object> more, Object otherwise, String description,
            String wanted, Predicate<Object> fits) {
        Map<String, Object> schema = new LinkedHashMap<>();
        if (type != null) {
            schema.put("type", type);
        }
        schema.put("default", otherwise);
        schema.putAll(more);
        schema.put("description", description);
        options.add(new Option(name, schema, otherwise, wanted, fits));
        return this;
    }

    /** {@return the JSON Schema of each option by its name} */
    Map<String, Object> describe() {
        Map<String, Object> all = new LinkedHashMap<>();
        options.forEach(each -> all.put(each.name, each.schema));
        return all;
    }

    /**
     * Checks values and adds the defaults of the others.
     *
     * @param given values by name; those left out have their defaults
     * @param owner who has these options, for people
     * @return the values of all options
     * @throws DovetailException if one is unknown, of the wrong type or out of range; the text says which
     */
    public Values read(Map<String, Object> given, String owner) {
        Map<String, Object> values = new LinkedHashMap<>();
        options.forEach(each -> values.put(each.name, each.otherwise));
        for (String name : given.keySet()) {
            if (!values.containsKey(name)) {
                throw new DovetailException(owner + " has no option '" + name + "'; it has "
                        + (values.isEmpty() ? "none" : String.join(", ", new TreeSet<>(values.keySet()))));
            }
        }
        for (Option each : options) {
            if (given.containsKey(each.name)) {
                Object value = given.get(each.name);
                if (!each.fits.test(value)) {
                    throw new DovetailException(owner + ", option '" + each.name + "': must be " + each.wanted);
                }
                values.put(each.name, value);
            }
        }
        return new Values(values);
    }

    /** Values of options, checked and with their defaults. */
    public static final class Values {
        private final Map<String, Object> values;

        Values(Map<String, Object> values) {
            this.values = values;
        }

        /**
         * Returns an option that is true or false.
         *
         * @param name its name
         * @return its value
         */
        public boolean bool(String name) {
            return (Boolean) values.get(name);
        }

        /**
         * Returns an option that is an integer.
         *
         * @param name its name
         * @return its value
         */
        public long integer(String name) {
            return (Long) values.get(name);
        }

        /**
         * Returns an option that is a number.
         *
         * @param name its name
         * @return its value
         */
        public double number(String name) {
            return ((Number) values.get(name)).doubleValue();
        }

        /**
         * Returns an option that is a text.
         *
         * @param name its name
         * @return its value
         */
        public String text(String name) {
            return (String) values.get(name);
        }

        /**
         * Returns an option as it came.
         *
         * @param name its name
         * @return its value
         */
        public Object any(String name) {
            return values.get(name);
        }
    }
}
