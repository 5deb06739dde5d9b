"""Whether tensors are still what they were, so that what was found out about them need not be found out again."""

from __future__ import annotations

from torch import Tensor


class Same:
    """Remembers tensors, and tells them again at a cost that does not depend on their size.

    They are told by identity and by PyTorch's count of writes to them. Tensors made in inference mode have no such
    count, and are never the same.
    """

    __slots__ = ("_tensors", "_versions")

    def __init__(self, *tensors: Tensor) -> None:
        self._tensors = tensors
        self._versions = [-1 if tensor.is_inference() else tensor._version for tensor in tensors]

    def are(self, *tensors: Tensor) -> bool:
        """Whether these are the tensors, as they were."""
        for tensor, known, version in zip(tensors, self._tensors, self._versions, strict=True):
            if tensor is not known or version < 0 or tensor._version != version:
                return False
        return True
