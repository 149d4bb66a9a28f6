"""The base of the API's types."""

from pydantic import BaseModel, ConfigDict


class WireModel(BaseModel):
    """Base of all types: immutable, and tolerant of new members."""

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True, protected_namespaces=())
