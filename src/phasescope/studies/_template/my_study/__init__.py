"""One weight leaves a saddle: the paper's table of contents."""

import phasescope as ps
from phasescope.studies._template.my_study.claims import escape_time_is_logarithmic, flow_follows_the_closed_form
from phasescope.studies._template.my_study.figures import the_escape
from phasescope.studies._template.my_study.spec import default, tiny
from phasescope.studies._template.my_study.theory import closed_form, flow
from phasescope.studies._template.my_study.training import descent

study = ps.Study(
    "my_study",
    default,
    paper="Authors, Title (venue, year)",
    presets={"tiny": tiny},
    arms=(descent, flow, closed_form),
    claims=(flow_follows_the_closed_form, escape_time_is_logarithmic),
    figures=(the_escape,),
)
