/** Serves the environment `othello` to a broker. */

import { main, serve } from "dovetail-client";
import { othello } from "./environment.js";

main(() => serve({ environments: [othello] }));
