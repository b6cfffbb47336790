import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["dovetail_web/static/looks.js"] },
  js.configs.recommended,
  {
    files: ["dovetail_web/static/*.js"],
    languageOptions: { globals: globals.browser },
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-undef": "off", // tsc knows better
      "no-unused-vars": "error",
      "no-shadow": "off",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Make elements; markup from elsewhere is never parsed." },
        { property: "outerHTML", message: "Make elements; markup from elsewhere is never parsed." },
        { property: "insertAdjacentHTML", message: "Make elements." },
      ],
    },
  },
  { files: ["test/*.js"], languageOptions: { globals: globals.node } },
];
