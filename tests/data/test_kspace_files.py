"""k-space in the formats of scanners: what comes back is what was measured, and files
that are wrong are refused in one line."""

import importlib
from pathlib import Path
from typing import Any

import h5py
import ismrmrd
import numpy as np
import pytest
from scipy.io import savemat

from passband.data.kspace_files import looks_like_coils, read_kspace, read_maps
from passband.data.matlab import read_matlab
from passband.data.volumes import head_phantom
from passband.errors import LONGEST_MESSAGE, InputError

COILS, NX, NY, NZ = 3, 12, 10, 6


def coil_images(*sides: int, seed: int = 0) -> np.ndarray:
    """A head heard by coils, complex."""
    rng = np.random.default_rng(seed)
    head = head_phantom(max(sides), dims=2)[: sides[0], : sides[1]]
    head = head if len(sides) == 2 else head[..., None] * np.hanning(sides[2] + 2)[1:-1]
    ramps = rng.normal(size=(COILS, len(sides)))
    axes = np.meshgrid(*[np.linspace(-1, 1, n) for n in sides], indexing="ij")
    maps = [1 + 0.3j * sum(r * a for r, a in zip(c, axes, strict=True)) for c in ramps]
    return (np.stack(maps) * head).astype(np.complex64)


def kspace_of(images: np.ndarray) -> np.ndarray:
    axes = tuple(range(1, images.ndim))
    shifted = np.fft.fftn(np.fft.ifftshift(images, axes), axes=axes, norm="ortho")
    return np.fft.fftshift(shifted, axes).astype(np.complex64)


SAMPLES = kspace_of(coil_images(NX, NY))


def write_cfl(path: Path, values: np.ndarray, dims: str | None = None) -> Path:
    sizes = " ".join(map(str, values.shape)) if dims is None else dims
    path.with_suffix(".hdr").write_text(f"# Dimensions\n{sizes}\n# Command\nphantom\n")
    values.astype("<c8").ravel(order="F").tofile(path.with_suffix(".cfl"))
    return path.with_suffix(".cfl")


def test_bart_has_its_first_axis_fastest(tmp_path):
    """Against nobody's writer: the layout by its definition, index by index."""
    values = np.zeros((1, NX, NY, COILS, 1), np.complex64)
    values[0, :, :, :, 0] = np.moveaxis(SAMPLES, 0, -1)
    path = write_cfl(tmp_path / "k", values)
    flat = np.fromfile(path, "<c8")
    assert flat[3 + NX * (4 + NY * 2)] == SAMPLES[2, 3, 4]
    found = read_kspace(path)
    assert found.coils and found.centred
    np.testing.assert_array_equal(found.samples, SAMPLES)
    np.testing.assert_array_equal(read_maps(path, SAMPLES.shape), SAMPLES)
    # Slices are BART's 14th axis, and whatever is left are frames.
    many = np.zeros((NX, NY, 1, COILS, 1, 2, *[1] * 7, 3, 1, 1), np.complex64)
    many[:, :, 0, :, 0, 1, ..., 2, 0, 0] = values[0, :, :, :, :].reshape(
        NX, NY, COILS, *[1] * 7
    )
    found = read_kspace(write_cfl(tmp_path / "many", many), slice_=2, frame=1)
    np.testing.assert_array_equal(found.samples, SAMPLES)
    assert found.notes == (
        "slice 2 of 3 (`slice` takes another)", "image 1 of 2 (`frame` takes another)",
    )  # fmt: skip


HEADER = """<?xml version="1.0"?>
<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD">
 <experimentalConditions><H1resonanceFrequency_Hz>1</H1resonanceFrequency_Hz>
 </experimentalConditions>
 <encoding>
  <encodedSpace><matrixSize><x>{nx}</x><y>{ny}</y><z>{nz}</z></matrixSize>
   <fieldOfView_mm><x>{wide}</x><y>{ny}</y><z>{nz}</z></fieldOfView_mm></encodedSpace>
  <reconSpace><matrixSize><x>{side}</x><y>{ny}</y><z>{nz}</z></matrixSize>
   <fieldOfView_mm><x>{fov}</x><y>{ny}</y><z>{nz}</z></fieldOfView_mm></reconSpace>
  <encodingLimits><kspace_encoding_step_1><minimum>0</minimum><maximum>9</maximum>
   <center>{centre}</center></kspace_encoding_step_1></encodingLimits>
  <trajectory>{trajectory}</trajectory>
 </encoding>
</ismrmrdHeader>
"""


def header(**changes: Any) -> str:
    words = {"nx": NX, "ny": NY, "nz": 1, "side": NX, "wide": 2 * NX, "fov": 2 * NX,
             "centre": NY // 2, "trajectory": "cartesian"}  # fmt: skip
    return HEADER.format(**words | changes)


def write_fastmri(path: Path, **changes: Any) -> Path:
    content: dict[str, Any] = {"kspace": SAMPLES[None], "ismrmrd_header": header()}
    with h5py.File(path, "w") as file:
        for name, value in (content | changes).items():
            if value is not None:
                file[name] = value
    return path


def test_fastmri_has_slices_before_coils(tmp_path):
    rss = np.random.default_rng(0).random((3, NX, NY)).astype(np.float32)
    stack = np.stack([0 * SAMPLES, SAMPLES, 2 * SAMPLES])
    mask = np.arange(NY) % 2
    path = write_fastmri(
        tmp_path / "f.h5", kspace=stack, reconstruction_rss=rss, mask=mask
    )
    found = read_kspace(path)
    np.testing.assert_array_equal(found.samples, SAMPLES)
    assert found.notes == ("slice 1 of 3 (`slice` takes another)",)
    assert found.spacing == (2.0, 1.0) and found.truth is not None
    np.testing.assert_array_equal(found.truth, rss[1])
    assert found.mask is not None and found.mask[:, 1::2].all()
    assert not found.mask[:, ::2].any()
    np.testing.assert_array_equal(read_kspace(path, slice_=2).samples, 2 * SAMPLES)
    single = write_fastmri(tmp_path / "s.h5", kspace=SAMPLES)  # of one coil
    assert not read_kspace(single).coils


def write_ismrmrd(path: Path, lines: list[Any], text: str | None = None) -> Path:
    """Written by ISMRMRD's own library."""
    with ismrmrd.Dataset(str(path), "dataset", True) as data:
        data.write_xml_header((text or header()).encode())
        for line in lines:
            data.append_acquisition(line)
    return path


def line_of(values: np.ndarray, y: int = 0, z: int = 0, *flags: int, **head: Any):
    coils, n = values.shape
    line: Any = ismrmrd.Acquisition()
    line.resize(n, coils)
    line.center_sample = head.pop("centre", n // 2)
    line.data[:] = values
    line.idx.kspace_encode_step_1, line.idx.kspace_encode_step_2 = y, z
    for name in ("slice", "repetition", "average", "contrast"):
        setattr(line.idx, name, head.pop(name, 0))
    for name, value in head.items():
        getattr(line, name)[:] = value
    for flag in flags:
        line.setFlag(flag)
    return line


def lines_of(samples: np.ndarray, **head: Any) -> list[Any]:
    return [line_of(samples[:, :, y], y, **head) for y in range(samples.shape[2])]


def test_lines_of_ismrmrd_come_to_their_place(tmp_path):
    """Two slices, two repetitions, two averages, lines read backwards, and lines that
    are no part of the image; the numbers are those that were measured."""
    noise = np.zeros((COILS, 4), np.complex64)  # too short to whiten with
    lines = [line_of(noise, 0, 0, ismrmrd.ACQ_IS_NOISE_MEASUREMENT)]
    lines += [line_of(7 * noise + 7, 3, 0, ismrmrd.ACQ_IS_NAVIGATION_DATA)]
    lines += lines_of(5 * SAMPLES, slice=0)
    lines += lines_of(3 * SAMPLES, slice=1, repetition=0)
    for share in (0.5, 1.5):  # averages
        for y in range(NY):
            values = share * SAMPLES[:, :, y]
            if y % 2:  # read from the other end; the middle is then at NX - 1 - NX // 2
                lines.append(
                    line_of(values[:, ::-1], y, 0, ismrmrd.ACQ_IS_REVERSE,
                            slice=1, repetition=1, centre=NX - 1 - NX // 2)
                )  # fmt: skip
            else:
                lines.append(line_of(values, y, slice=1, repetition=1))
    path = write_ismrmrd(tmp_path / "i.h5", lines)
    found = read_kspace(path, frame=1)
    np.testing.assert_allclose(found.samples, SAMPLES, rtol=1e-6)
    assert found.mask is not None and found.mask.all()
    said = "; ".join(found.notes)
    assert "1 navigator lines left out" in said and "too few to use" in said
    assert "slice 1 of 2" in said and "repetition 1 of 2" in said
    first = read_kspace(path, slice_=0)
    np.testing.assert_allclose(first.samples, 5 * SAMPLES, rtol=1e-6)


def test_oversampling_is_taken_off_and_the_image_stays(tmp_path):
    """Twice the samples of a readout show twice the field of view; its middle is the
    image. Lines that were not measured stay so."""
    images = coil_images(NX, NY)
    wide = np.zeros((COILS, 2 * NX, NY), np.complex64)
    wide[:, NX // 2 : NX // 2 + NX] = images
    lines = lines_of(kspace_of(wide))[::2]
    turn = np.eye(3)[[1, 2, 0]]  # read, phase and slice along y, z, x
    for line in lines:
        line.position[:] = (10.0, 20.0, 30.0)
        line.read_dir[:], line.phase_dir[:], line.slice_dir[:] = turn
    text = header(nx=2 * NX, wide=4 * NX, fov=2 * NX, side=NX, nz=1)
    found = read_kspace(write_ismrmrd(tmp_path / "o.h5", lines, text))
    assert found.notes[-1] == "readout oversampling of 2 taken off"
    expected = np.where(np.arange(NY) % 2, 0, kspace_of(images))
    np.testing.assert_allclose(found.samples, expected, atol=1e-5)
    assert found.mask is not None and found.mask.sum() == NX * NY // 2
    assert found.spacing == (2.0, 1.0)
    # The voxel in the middle is at the position of the line, left and posterior turned
    # to right and anterior; a step along the readout is 2 mm along y.
    assert found.affine is not None
    at = found.affine @ [NX // 2, NY // 2, 0, 1]
    np.testing.assert_allclose(at, [-10, -20, 30, 1])
    np.testing.assert_allclose(found.affine[:3, 0], [0, -2, 0])
    np.testing.assert_allclose(found.affine[:3, 1], [0, 0, 1])


def test_volumes_calibration_and_noise(tmp_path):
    samples = kspace_of(coil_images(NX, NY, NZ))
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(COILS, COILS)) + 1j * rng.normal(size=(COILS, COILS))
    pure = (rng.normal(size=(2, COILS, 4000)) / np.sqrt(2)).astype(np.float32)
    noise = (mix @ (pure[0] + 1j * pure[1])).astype(np.complex64)
    mixed = np.einsum("ij,j...->i...", mix, samples).astype(np.complex64)
    lines = [line_of(noise, 0, 0, ismrmrd.ACQ_IS_NOISE_MEASUREMENT)]
    for y in range(NY):
        for z in range(NZ):
            alone = (y + z) % 2 == 1  # measured for the coils alone
            flags = (ismrmrd.ACQ_IS_PARALLEL_CALIBRATION,) if alone else ()
            lines.append(line_of(mixed[:, :, y, z], y, z, *flags))
    found = read_kspace(write_ismrmrd(tmp_path / "v.h5", lines, header(nz=NZ)))
    assert found.samples.shape == samples.shape and found.mask is not None
    assert found.mask.mean() == 0.5 and found.calibration is not None
    assert (found.calibration != 0).any(axis=0).all()
    # Whitened coils of unmixed ones differ by a rotation, which keeps every length.
    size = np.linalg.norm(found.calibration, axis=0)
    ratio = size / np.linalg.norm(samples, axis=0)
    assert np.std(ratio) < 0.05 * np.mean(ratio)


def write_matlab73(path: Path, **arrays: np.ndarray) -> Path:
    """As MATLAB writes version 7.3: HDF5 behind 512 bytes, axes reversed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in arrays.items():
            if np.iscomplexobj(value):
                pair = np.dtype([("real", "<f8"), ("imag", "<f8")])
                stored = np.empty(value.T.shape, pair)
                stored["real"], stored["imag"] = np.real(value.T), np.imag(value.T)
            else:
                stored = value.T
            file[name.replace("__", "/")] = stored
            file[name.replace("__", "/")].attrs["MATLAB_class"] = np.bytes_("double")
    with open(path, "r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(126) + b"\0\2IM")
    return path


@pytest.mark.parametrize("version", ["5", "7.3"])
def test_matlab_arrays_by_name_and_axes(tmp_path, version):
    path, last = tmp_path / "k.mat", np.moveaxis(SAMPLES, 0, -1)
    if version == "5":
        content = {"scan": {"ksp": last, "te": 5.0}, "mask": np.ones((NX, NY))}
        savemat(path, content, do_compression=True)
    else:
        write_matlab73(path, scan__ksp=last, mask=np.ones((NX, NY)))
    found = read_kspace(path, axes="xyc")
    np.testing.assert_array_equal(found.samples, SAMPLES)
    named = read_kspace(path, axes="yxc", array="scan.ksp")
    np.testing.assert_array_equal(named.samples, SAMPLES.transpose(0, 2, 1))
    assert read_matlab(path)["mask"].shape == (NX, NY)
    with pytest.raises(InputError, match="`axes=xyc` has coils last"):
        read_kspace(path)


def test_axes_are_put_in_order(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, NX, 4, NY, COILS)) + 0j  # t x s y c
    np.save(tmp_path / "k.npy", values)
    found = read_kspace(tmp_path / "k.npy", axes="txsyc", slice_=3, frame=1)
    expected = values[1, :, 3].transpose(2, 0, 1).astype(np.complex64)
    np.testing.assert_array_equal(found.samples, expected)
    assert looks_like_coils(SAMPLES)
    assert not looks_like_coils(kspace_of(coil_images(NZ + 4, NX, NX))[0])


def cut(path: Path, share: float = 0.5) -> Path:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    return path


def text_as(path: Path) -> Path:
    path.write_text("dear reader\n" * 60)
    return path


BART = {
    "numbers cut short": (lambda p: cut(write_cfl(p / "k", SAMPLES)), "is cut short"),
    "too many numbers": (lambda p: write_cfl(p / "k", SAMPLES, "2 2"), "is too long"),
    "no header": (lambda p: (write_cfl(p / "k", SAMPLES),
                             (p / "k.hdr").unlink())[0], "`.*k.hdr` does not exist"),
    "no numbers": (lambda p: (write_cfl(p / "k", SAMPLES).unlink(),
                              p / "k.hdr")[1], "`.*k.cfl` does not exist"),
    "words for sizes": (lambda p: write_cfl(p / "k", SAMPLES, "a b"), "positive"),
    "a size of 0": (lambda p: write_cfl(p / "k", SAMPLES, "0 10"), "positive numbers"),
    "negative sizes": (lambda p: write_cfl(p / "k", SAMPLES, "-1 5"), "positive num"),
    "17 axes": (lambda p: write_cfl(p / "k", SAMPLES, "1 " * 17), "1 to 16"),
    "a size beyond memory": (lambda p: write_cfl(p / "k", SAMPLES, "99999 99999"),
                             "is cut short"),
    "a line of one axis": (lambda p: write_cfl(p / "k", np.ones(5)), "two or three"),
    "not a number": (lambda p: write_cfl(p / "k", SAMPLES * np.nan), "NaN"),
    "only zeros": (lambda p: write_cfl(p / "k", 0 * SAMPLES), "nothing but zeros"),
}  # fmt: skip


def fast(**changes: Any):
    return lambda p: write_fastmri(p / "k.h5", **changes)


def linked(p: Path) -> Path:
    write_fastmri(p / "other.h5")
    with h5py.File(p / "k.h5", "w") as file:
        file["kspace"] = h5py.ExternalLink("other.h5", "kspace")
    return p / "k.h5"


def huge(p: Path) -> Path:
    with h5py.File(p / "k.h5", "w") as file:
        file.create_dataset("kspace", (1, 64, 40_000, 40_000), "c8", chunks=True)
    return p / "k.h5"


FAST = {
    "cut short": (lambda p: cut(write_fastmri(p / "k.h5")), "damaged, cut short"),
    "no HDF5": (lambda p: text_as(p / "k.h5"), "no HDF5 file by its first bytes"),
    "no kspace": (fast(kspace=None, other=SAMPLES), "neither `kspace` .* `other`"),
    "two axes": (fast(kspace=SAMPLES[0]), r"`kspace` has shape \(12, 10\)"),
    "real numbers": (fast(kspace=np.real(SAMPLES[None])), "no complex numbers"),
    "a wide mask": (fast(mask=np.ones(99)), "99 columns and `kspace` 10"),
    "a header that is no XML": (fast(ismrmrd_header="<a>"), "no XML"),
    "a header without encoding": (fast(ismrmrd_header="<a/>"), "without `encoding`"),
    "metres": (fast(ismrmrd_header=header(wide=0.024)), "is in mm"),
    "entities": (fast(ismrmrd_header='<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
                 "defines entities"),
    "no field of view": (fast(ismrmrd_header=header(wide=0)), "field of view is empty"),
    "a link to another file": (linked, "is a link to another file"),
    "more than memory": (huge, "are allowed for a file of its size"),
}  # fmt: skip


def mrd(lines: Any = None, text: str | None = None):
    return lambda p: write_ismrmrd(
        p / "k.h5", lines_of(SAMPLES) if lines is None else lines(), text
    )


def without(name: str):
    def write(p: Path) -> Path:
        write_ismrmrd(p / "k.h5", lines_of(SAMPLES))
        with h5py.File(p / "k.h5", "r+") as file:
            del file[f"dataset/{name}"]
        return p / "k.h5"

    return write


MRD = {
    "cut short": (lambda p: cut(mrd()(p)), "damaged, cut short"),
    "no header": (without("xml"), "neither `kspace` .* nor `dataset/xml`"),
    "no lines": (without("data"), "no group with `xml` and `data`"),
    "radial": (mrd(text=header(trajectory="radial")), "radial trajectory; only Cart"),
    "no grid": (mrd(text=header(nx="wide")), "`encodedSpace/matrixSize/x` is `wide`"),
    "metres": (mrd(text=header(wide=0.024, fov=0.024)), "is in mm"),
    "too long lines": (mrd(text=header(nx=8)), "12 samples about 6 for an .* of 8"),
    "a step outside": (mrd(lambda: [line_of(SAMPLES[:, :, 0], 77)]), "step .77, 0. of"),
    "other coils": (mrd(lambda: [line_of(SAMPLES[:, :, 0]),
                                 line_of(SAMPLES[:2, :, 1], 1)]), "lines of .2, 3. c"),
    "noise alone": (mrd(lambda: [line_of(SAMPLES[:, :, 0], 0, 0,
                                         ismrmrd.ACQ_IS_NOISE_MEASUREMENT)]),
                    "no line of an image among 1"),
    "a middle outside": (mrd(lambda: [line_of(SAMPLES[:, :, 0], centre=50)]),
                         "12 samples whose middle is 50"),
}  # fmt: skip


def mat(**content: Any):
    return lambda p: (savemat(p / "k.mat", content), p / "k.mat")[1]


MATLAB = {
    "cut short": (lambda p: cut(mat(k=SAMPLES[0])(p)), "cut short"),
    "no MATLAB": (lambda p: text_as(p / "k.mat"), "damaged, cut short or not"),
    "7.3 cut short": (lambda p: cut(write_matlab73(p / "k.mat", k=SAMPLES[0]), 0.6),
                      "damaged, cut short"),
    "no arrays": (mat(name="only words"), "no array of numbers"),
    "two arrays": (mat(a=SAMPLES[0], b=SAMPLES[1]), "name the one with `array=NAME`"),
    "real numbers": (mat(k=SAMPLES[0].real), "k-space is complex"),
    "three axes": (mat(k=SAMPLES), "say what its axes are"),
    "a vector": (mat(k=SAMPLES[0, 0]), "name the one with"),
    "not a number": (mat(k=SAMPLES[0] * np.nan), "NaN or infinite"),
    "only zeros": (mat(k=0 * SAMPLES[0]), "nothing but zeros"),
}  # fmt: skip

CASES = [
    pytest.param(make, said, id=f"{kind}: {name}")
    for kind, table in
    (("BART", BART), ("fastMRI", FAST), ("ISMRMRD", MRD), ("MATLAB", MATLAB))
    for name, (make, said) in table.items()
]  # fmt: skip


@pytest.mark.parametrize(("make", "said"), CASES)
def test_what_is_wrong_is_said_in_one_line(tmp_path, make, said):
    with pytest.raises(InputError, match=said) as error:
        read_kspace(make(tmp_path))
    assert "\n" not in str(error.value) and len(str(error.value)) < LONGEST_MESSAGE


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"axes": "cx"}, "must be letters"),
        ({"axes": "cxx"}, "must be letters"),
        ({"axes": "cxyz"}, "names 4 axes"),
        ({"axes": "cxy", "slice_": 1}, "`axes` has no `s`"),
        ({"axes": "sxy", "slice_": 9}, "3 slices, counted from 0"),
        ({"array": "k"}, "means nothing to a NPY file"),
    ],
)
def test_what_cannot_be_asked(tmp_path, words, said):
    np.save(tmp_path / "k.npy", SAMPLES)
    with pytest.raises(InputError, match=said):
        read_kspace(tmp_path / "k.npy", **words)


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    path = write_fastmri(tmp_path / "k.h5")
    real = importlib.import_module

    def absent(name: str, *more: Any) -> Any:
        if name == "h5py":
            raise ModuleNotFoundError(name)
        return real(name, *more)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(InputError, match=r'h5py.*pip install "passband\[formats\]"'):
        read_kspace(path)


def test_strings_and_lines_longer_than_their_file_take_no_memory(tmp_path):
    path = write_fastmri(tmp_path / "f.h5")
    with h5py.File(path) as file:
        at = file["ismrmrd_header"].id.get_offset()  # pyright: ignore
    _patch(path, at)
    with pytest.raises(InputError, match="`ismrmrd_header` is longer than the file"):
        read_kspace(path)
    lines = [line_of(SAMPLES[:, :, y], y) for y in range(NY)]
    path = write_ismrmrd(tmp_path / "l.mrd", lines)
    with h5py.File(path) as file:
        data: Any = file["dataset/data"]
        at = data.id.get_chunk_info(3).byte_offset + 356
    _patch(path, at)
    with pytest.raises(InputError, match="line 3 is longer than the file"):
        read_kspace(path)


def _patch(path: Path, at: int) -> None:
    """A length of 2 GiB."""
    content = bytearray(path.read_bytes())
    content[at : at + 4] = (2**31).to_bytes(4, "little")
    path.write_bytes(content)
