//! Edits of a record's verdict, figures and settings, which its log has too.

use super::Row;
use crate::{
    Finding,
    Rule::{self, *},
    result::{Division, Verdict},
};

pub(super) const ROWS: &[Row] = &[
    ("a verdict of INVALID", &[N33], |tree| {
        tree.record("Server/accuracy", |record| record.verdict = Verdict::Invalid);
    }),
    ("an exploratory run", &[], |tree| {
        tree.record("Server/performance", |record| record.division = Division::Exploratory);
    }),
    ("a run of the Open division", &[], |tree| {
        tree.record("Server/performance", |record| record.division = Division::Open);
    }),
    ("a rehearsal", &[], |tree| {
        tree.record("Server/performance", |record| record.rehearsal = true);
    }),
    ("a run that found a rule broken", &[], |tree| {
        tree.record("Server/performance", |record| {
            record.findings.push(Finding::fail(Rule::N5, "node-a", "loopback"));
        });
    }),
    ("a metric of another name", &[N21], |tree| {
        tree.record("Server/performance", |record| {
            record.metric.as_mut().unwrap().name = "scheduled samples per second".into();
        });
    }),
    ("a metric of another unit", &[N21], |tree| {
        tree.record("Offline/performance", |record| {
            record.metric.as_mut().unwrap().unit = "queries/s".into();
        });
    }),
    ("a performance run without its metric", &[N21], |tree| {
        tree.record("Offline/performance", |record| record.metric = None);
    }),
    ("a metric of an accuracy run", &[N21], |tree| {
        let mut metric = None;
        tree.record("Offline/performance", |record| metric = record.metric.clone());
        tree.record("Offline/accuracy", |record| record.metric = metric);
    }),
    ("a lower percentile in the record", &[N21], |tree| {
        tree.record("Server/performance", |record| {
            *record.loadgen_latency_ns.get_mut("99.00").unwrap() -= 1.0;
        });
    }),
    ("a percentile that the record leaves out", &[N21], |tree| {
        tree.record("Server/performance", |record| {
            record.loadgen_latency_ns.remove("99.90");
        });
    }),
    ("a percentile that LoadGen does not have", &[N21], |tree| {
        tree.record("Server/performance", |record| {
            record.loadgen_latency_ns.insert("99.99".into(), 9_500_000.0);
        });
    }),
    ("late queries in the record", &[N21], |tree| {
        tree.record("Server/performance", |record| record.samples.late = Some(3));
    }),
    ("late queries that the record does not count", &[N21], |tree| {
        tree.record("Server/TEST01", |record| record.samples.late = None);
    }),
    ("another rate that was asked for", &[N2, N32], |tree| {
        tree.record("Server/performance", |record| {
            record.test_settings.insert("server_target_qps".into(), "17000.000000".into());
        });
    }),
    ("another rate that TEST01 was asked for", &[N32, N34], |tree| {
        tree.record("Offline/TEST01", |record| {
            record.test_settings.insert("offline_expected_qps".into(), "17000.000000".into());
        });
    }),
    ("another latency bound that was asked for", &[N32, N34], |tree| {
        tree.record("Server/TEST04", |record| {
            record.test_settings.insert("server_target_latency_ns".into(), "14000000".into());
        });
    }),
    ("samples that the record says were chosen", &[N2, N32], |tree| {
        tree.record("Server/performance", |record| {
            record.test_settings.insert("performance_issue_unique".into(), "true".into());
        });
    }),
    ("another number of queries that was asked for", &[N32], |tree| {
        tree.record("Server/accuracy", |record| {
            record.test_settings.insert("min_query_count".into(), "1".into());
        });
    }),
    ("a setting that is not a number", &[N32], |tree| {
        tree.record("Server/accuracy", |record| {
            record.test_settings.insert("min_query_count".into(), "many".into());
        });
    }),
    ("a record without a name", &[N15], |tree| {
        tree.record("Server/performance", |record| record.sut_name = None);
    }),
    ("a record without the time for the name", &[N14], |tree| {
        tree.record("Server/accuracy", |record| record.get_sut_name_duration_ns = None);
    }),
    ("a record without a setting", &[N32], |tree| {
        tree.record("Server/accuracy", |record| {
            record.test_settings.remove("min_duration_ms");
        });
    }),
    ("a performance run that is only complete", &[N33], |tree| {
        tree.record("Server/performance", |record| record.verdict = Verdict::Complete);
    }),
    ("an accuracy run that is valid", &[N33], |tree| {
        tree.record("Server/accuracy", |record| record.verdict = Verdict::Valid);
    }),
    ("a failed run with digests", &[N33], |tree| {
        tree.record("Offline/digests", |record| record.verdict = Verdict::Failed);
    }),
    ("samples that a node handed on without being lost", &[N15], |tree| {
        tree.record("Server/performance", |record| record.nodes[0].redispatched = 5);
    }),
    ("replies of no sample that the record gives no reason for", &[N33], |tree| {
        tree.record("Server/performance", |record| record.nodes[0].unmatched_replies = 5);
    }),
    ("right answers that do not give the accuracy", &[N2], |tree| {
        tree.record("Offline/accuracy", |record| record.accuracy.as_mut().unwrap().correct -= 900);
    }),
    ("an accuracy of fewer samples", &[N2], |tree| {
        tree.record("Offline/accuracy", |record| {
            let accuracy = record.accuracy.as_mut().unwrap();
            accuracy.total /= 2;
            accuracy.correct /= 2;
        });
    }),
    ("another accuracy as reported", &[N2], |tree| {
        tree.record("Offline/accuracy", |record| {
            record.accuracy.as_mut().unwrap().reported = "79.000".into();
        });
    }),
    ("a rehearsal that its settings still name", &[], |tree| {
        tree.given("Server/performance", "rehearsal", true.into());
    }),
    ("a run that its settings name as one of the Open division", &[], |tree| {
        tree.given("Server/accuracy", "division", "open".into());
    }),
    ("an audit.config in the performance run", &[N32], |tree| {
        tree.given("Server/performance", "audit_config", "audit.config".into());
    }),
];
