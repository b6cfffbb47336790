"""``python -m dovetail.protocol.generate``."""

import sys

from dovetail.protocol.generate import main

sys.exit(main())
