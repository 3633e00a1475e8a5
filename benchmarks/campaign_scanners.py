"""Small whole files of the formats that scanners, coils and cameras leave."""

import functools
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import ismrmrd
import numpy as np
import pydicom
import scipy.io
import tifffile
from PIL import Image
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, MRImageStorage, generate_uid

GEOMETRY = """{"type": "fan", "detector": "flat", "source_origin": 410.66,
"source_detector": 553.74, "pitch": 0.2, "size": 512, "angles": "0:360:60"}"""
HEADER = """<?xml version="1.0"?>
<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD"><encoding>
<encodedSpace><matrixSize><x>12</x><y>10</y><z>1</z></matrixSize>
<fieldOfView_mm><x>24</x><y>10</y><z>1</z></fieldOfView_mm></encodedSpace>
<reconSpace><matrixSize><x>12</x><y>10</y><z>1</z></matrixSize>
<fieldOfView_mm><x>24</x><y>10</y><z>1</z></fieldOfView_mm></reconSpace>
<encodingLimits><kspace_encoding_step_1><minimum>0</minimum><maximum>9</maximum>
<center>5</center></kspace_encoding_step_1></encodingLimits>
<trajectory>cartesian</trajectory></encoding></ismrmrdHeader>
"""


def make_scans(place: Path) -> dict[str, Callable[[Path], Any]]:
    """The files, and how each is read."""
    from passband.data import (
        colmap,
        ct_geometry,
        dicom,
        kspace_files,
        llff,
        scans,
        videos,
        voxels,
    )

    rng = np.random.default_rng(0)
    counts = rng.integers(50, 200, (6, 3, 16)).astype(np.uint16)
    theta = 30.0 * np.arange(6)
    with h5py.File(place / "exchange.h5", "w") as file:
        file["exchange/data"], file["exchange/theta"] = counts, theta
        file["exchange/data_white"] = np.full((2, 3, 16), 250, np.uint16)
        file["exchange/data_dark"] = np.zeros((2, 3, 16), np.uint16)
    scan = {"sinogram": rng.random((6, 16)), "angles": theta}
    scipy.io.savemat(place / "scan.mat", {"CtData": scan}, do_compression=True)
    np.savez(place / "scan.npz", **scan)
    tifffile.imwrite(place / "stack.tif", counts, compression="zlib")
    told = {"axes": "ZYX", "spacing": 2.0, "unit": "mm"}
    tifffile.imwrite(place / "volume.tif", counts, imagej=True, metadata=told)
    (place / "geometry.json").write_text(GEOMETRY)
    samples = rng.standard_normal((2, 12, 10, 2)) @ [1, 1j]
    samples = samples.astype(np.complex64)
    with h5py.File(place / "fast.h5", "w") as file:
        file["kspace"], file["ismrmrd_header"] = samples[None], HEADER
    _ismrmrd(place / "lines.mrd", samples)
    scipy.io.savemat(place / "kspace.mat", {"k": samples})
    (place / "bart.hdr").write_text("# Dimensions\n12 10 1 2 1 1\n")
    swapped = np.asfortranarray(np.moveaxis(samples, 0, -1)[:, :, None])
    (place / "bart.cfl").write_bytes(swapped.tobytes(order="F"))
    _dicom(place / "slice.dcm", counts[0])
    _colmap(place)
    pose = np.column_stack([np.eye(3, 4), [24.0, 32.0, 30.0]])
    row = [*pose.ravel(), 2.0, 8.0]
    np.save(place / "poses_bounds.npy", np.array([row] * 4))
    frames = [Image.fromarray(picture) for picture in (counts[:, 0] % 256).astype("u1")
              .reshape(3, 2, 16)]  # fmt: skip
    frames[0].save(place / "film.gif", save_all=True, append_images=frames[1:])

    def beside(other: str, path: Path) -> Any:
        shutil.copy(place / f"bart.{other}", path.with_suffix(f".{other}"))
        return kspace_files.read_kspace(path.with_suffix(".cfl"))

    return {
        **dict.fromkeys(("exchange.h5", "scan.mat", "scan.npz"), scans.read_scan),
        "stack.tif": scans.read_tiff_stack,
        "geometry.json": ct_geometry.read_geometry,
        **dict.fromkeys(("fast.h5", "lines.mrd"), kspace_files.read_kspace),
        "kspace.mat": functools.partial(kspace_files.read_kspace, axes="cxy"),
        "bart.hdr": functools.partial(beside, "cfl"),
        "bart.cfl": functools.partial(beside, "hdr"),
        "slice.dcm": dicom.read_frames,
        "cameras.bin": colmap.read_cameras_bin,
        "images.bin": colmap.read_images_bin,
        "points3D.bin": colmap.read_points_bin,
        "cameras.txt": colmap.read_cameras_txt,
        "images.txt": colmap.read_images_txt,
        "points3D.txt": colmap.read_points_txt,
        "poses_bounds.npy": llff.read_poses_bounds,
        "film.gif": videos.read_video,
        "volume.tif": voxels.read_voxels,
    }


def _ismrmrd(path: Path, samples: np.ndarray) -> None:
    path.unlink(missing_ok=True)
    with ismrmrd.Dataset(str(path), "dataset", True) as data:
        data.write_xml_header(HEADER.encode())
        for y in range(samples.shape[2]):
            line: Any = ismrmrd.Acquisition()
            line.resize(samples.shape[1], samples.shape[0])
            line.center_sample = samples.shape[1] // 2
            line.data[:] = samples[:, :, y]
            line.idx.kspace_encode_step_1 = y
            data.append_acquisition(line)


def _dicom(path: Path, pixels: np.ndarray) -> None:
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = MRImageStorage
    meta.MediaStorageSOPInstanceUID = generate_uid()
    data = Dataset()
    data.file_meta = meta
    data.SOPClassUID = meta.MediaStorageSOPClassUID
    data.SOPInstanceUID = meta.MediaStorageSOPInstanceUID
    data.SeriesInstanceUID = generate_uid()
    data.Rows, data.Columns = pixels.shape
    data.SamplesPerPixel, data.PhotometricInterpretation = 1, "MONOCHROME2"
    data.BitsAllocated = data.BitsStored = 16
    data.HighBit, data.PixelRepresentation = 15, 0
    data.PixelSpacing, data.SliceThickness = [2.0, 3.0], 1.0
    data.ImageOrientationPatient = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    data.ImagePositionPatient = [0.0, 0.0, 0.0]
    data.PixelData = pixels.astype("<u2").tobytes()
    pydicom.dcmwrite(path, data, enforce_file_format=True)


def _colmap(place: Path) -> None:
    camera = struct.pack("<IiQQ4d", 7, 1, 32, 24, 30.0, 30.0, 16.0, 12.0)
    (place / "cameras.bin").write_bytes(struct.pack("<Q", 1) + camera)
    (place / "cameras.txt").write_text("# one\n7 PINHOLE 32 24 30 30 16 12\n")
    images, lines = struct.pack("<Q", 3), ["# two lines each"]
    for k in range(3):
        pose = 1.0, 0.0, 0.0, 0.0, 0.1 * k, 0.0, 4.0
        images += struct.pack("<I7dI", k + 1, *pose, 7) + f"p{k}.png".encode() + b"\0"
        images += struct.pack("<Qddq", 1, 1.5, 2.5, -1)
        lines += [f"{k + 1} {' '.join(map(str, pose))} 7 p{k}.png", "1.5 2.5 -1"]
    (place / "images.bin").write_bytes(images)
    (place / "images.txt").write_text("\n".join(lines))
    cloud = struct.pack("<Q", 5)
    for k in range(5):
        cloud += struct.pack("<Q3d3BdQ4I", k, k, 1.0, 2.0, 1, 2, 3, 0.5, 2, 1, 2, 3, 4)
    (place / "points3D.bin").write_bytes(cloud)
    points = "".join(f"{k} {k} 1 2 1 2 3 0.5 1 2 3 4\n" for k in range(5))
    (place / "points3D.txt").write_text(points)
