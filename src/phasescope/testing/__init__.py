"""What a study's tests use: the contract that every study keeps, and evidence on which no claim may hold."""

from .contract import check_study as check_study
from .contract import constant_like as constant_like
from .contract import noise_like as noise_like
from .fields import fields_read_by as fields_read_by
