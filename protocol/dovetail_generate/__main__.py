"""``python -m dovetail_generate``."""

import sys

from dovetail_generate import main

sys.exit(main())
