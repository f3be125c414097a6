"""One weight leaves a saddle: the paper's table of contents."""

import phasescope as ps

from .claims import escape_time_is_logarithmic, flow_follows_the_closed_form
from .figures import the_escape
from .spec import default, tiny
from .theory import closed_form, flow
from .training import descent

study = ps.Study(
    "my_study",
    default,
    paper="Authors, Title (venue, year)",
    presets={"tiny": tiny},
    arms=(descent, flow, closed_form),
    claims=(flow_follows_the_closed_form, escape_time_is_logarithmic),
    figures=(the_escape,),
)
