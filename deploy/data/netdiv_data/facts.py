"""Facts that MLCommons publishes about each data set: counts, digests, licences.

Counts: the rules v5.0 and the submission checker. Classes: loadgen-node/rules/src/book/table.toml, which names their sources. MD5 of
files: mlcommons/mlperf-automations, `meta.yaml` and `checksums.txt` of the scripts that fetch the data set, unless a comment names
another source. MD5 of calibration lists: the files in `calibration` of mlcommons/inference, tag v5.0.1.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Facts:
    """Published facts about a data set."""

    name: str
    licence: str
    samples: int
    calibration: int | None = None  # size of the calibration subset, if published
    classes: int | None = None  # number of classes; labels are smaller
    md5: dict[str, str] = field(default_factory=dict)  # MD5 of its files, by name
    lists: dict[str, str] = field(default_factory=dict)  # MD5 of its calibration lists, by name


IMAGENET = Facts(
    "ImageNet 2012, validation",
    "image-net.org's terms of access: for non-commercial research and education; images must not be passed on",
    50000, calibration=500, classes=1000,
    lists={
        "cal_image_list_option_1.txt": "f09719174af3553119e2c621157773a6",
        "cal_image_list_option_2.txt": "e44582af00e3b4fc3fac30efd6bdd05f",
    },
)
OPENIMAGES = Facts(
    "OpenImages v6, validation, 264 classes",
    "annotations CC BY 4.0, Google; images CC BY 2.0 by their own statement, each to be checked",
    24781, calibration=500, classes=264,
    lists={"openimages_cal_images_list.txt": "5c3196ddcec4605c6a9fcf004d9615e6"},
)
SQUAD = Facts(
    "SQuAD v1.1, dev", "CC BY-SA 4.0", 10833, calibration=100,
    md5={"dev-v1.1.json": "3e85deb501d4e538b6bc56f786231552", "vocab.txt": "64800d5d8528ce344256daf115d4965e"},
    lists={"bert_calibration_features.txt": "81fa69eb66f72831edccb624133bb4b3"},
)
# 3d-unet-kits19/meta of mlcommons/inference lists MD5 of the reference's pickles, which depend on the versions of Python and numpy.
KITS19 = Facts("KiTS 2019", "CC BY-NC-SA 4.0", 43, calibration=20)
CRITEO = Facts(
    "Criteo Terabyte click logs, day 23, synthetic multi-hot", "CC BY-NC-SA 4.0, Criteo's terms of use", 330067, classes=2,
    md5={
        "day_23_dense.npy": "cdf7af87cbc7e9b468c0be46b1767601",
        "day_23_labels.npy": "dd68f93301812026ed6f58dfb0757fa7",
        "day_23_sparse_multi_hot.npz": "c46b7e31ec6f2f8768fa60bdfc0f6e40",
        # README of dlrm_v2, tag v5.0.1.
        "dlrm_trace_of_aggregated_samples.txt": "3db90209564316f2506c99cc994ad0b2",
    },
)
OPENORCA = Facts("OpenOrca (GPT-4), tokenized for Llama 2", "MIT; tokenized by MLCommons for its members", 24576, calibration=1000)
MIXTRAL = Facts(
    "OpenOrca, GSM8K and MBXP, tokenized for Mixtral", "MIT; MIT; Apache 2.0", 15000,
    md5={"09292024_mixtral_15k_mintoken2_v1.pkl": "78823c13e0e73e518872105c4b09628b"},
)
LONG_PROMPTS = Facts(
    "subset of LongBench, LongDataCollections, Ruler and GovReport, tokenized for Llama 3.1", "of each source", 8313, calibration=512)
CNN_GPTJ = Facts("CNN/DailyMail 3.0.0, validation", "Apache 2.0", 13368, calibration=1000)
CNN_LLAMA = Facts("CNN/DailyMail 3.0.0, validation, tokenized for Llama 3.1 8B", "Apache 2.0", 13368, calibration=1000)
DEEPSEEK = Facts("AIME, MATH500, GPQA, MMLU-Pro, LiveCodeBench, tokenized for DeepSeek-R1", "of each source", 4388, calibration=500)
# Counts: the rules and the checker of v6.1; of TEST07, its audit.config.
GPT_OSS_PERFORMANCE = Facts("summaries of PubMed, tokenized for gpt-oss (performance)", "of each paper", 6396)
GPT_OSS_ACCURACY = Facts(
    "AIME 2025, GPQA Diamond and LiveCodeBench v6, tokenized for gpt-oss (accuracy)",
    "of each source: GPQA is CC BY 4.0, the problems of AIME and LiveCodeBench belong to those who set them", 4395)
GPT_OSS_TEST07 = Facts("GPQA Diamond, tokenized for gpt-oss (TEST07)", "CC BY 4.0", 990)
LIBRISPEECH = Facts("LibriSpeech, dev-clean and dev-other, packed into clips of at most 30 s", "CC BY 4.0", 1633)
# MD5: text_to_image/coco2014/captions of mlcommons/inference, tag v5.0.1.
CAPTIONS = Facts(
    "COCO 2014, validation, 5,000 captions", "annotations CC BY 4.0, COCO Consortium", 5000, calibration=500,
    md5={"captions_source.tsv": "24ba91c1e0fc04e70895385b4a57dca1"},
    lists={"coco_cal_captions_list.txt": "35061c423b4219445777cd6db456d0dd"},
)
# The MD5 are of the size full.
IGBH = Facts(
    "IGBH, the Illinois Graph Benchmark's heterogeneous graph",
    "the terms of github.com/IllinoisGraphBenchmark/IGB-Datasets; made of the Microsoft Academic Graph and Semantic Scholar",
    788379, calibration=5000, classes=2983,
    md5={
        "paper/node_feat.npy": "71058b9ac8011bafa1c5467504452d13",
        "paper/node_label_2K.npy": "6eccab9a14f92f42be5b367c39002031",
        "author/node_feat.npy": "2ec2512b554088381c04ec013e893c8d",
        "conference/node_feat.npy": "898ff529b8cf972261fedd50df6377f8",
        "institute/node_feat.npy": "12eaeced22d17b4e97d4b4742331c819",
        "journal/node_feat.npy": "49d51b554b3004f10bee19d1c7f9b416",
        "fos/node_feat.npy": "3ef3df19e2475c387fec10bac82773df",
        "paper__cites__paper/edge_index.npy": "f4897f53636c04a9c66f6063ec635c16",
        "author__affiliated_to__institute/edge_index.npy": "e35dba208f81e0987207f78787c75711",
        "paper__published__journal/edge_index.npy": "38505e83bde8e5cf94ae0a85afa60e13",
        "paper__topic__fos/edge_index.npy": "427fb350a248ee6eaa8c21cde942fda4",
        "paper__venue__conference/edge_index.npy": "541b8d43cd93579305cfb71961e10a7d",
        "paper__written_by__author/edge_index.npy": "df39fe44bbcec93a640400e6d81ffcb5",
    },
    lists={"calibration.txt": "a9122f99edcc2bc2e7731507623e0df8"},
)
